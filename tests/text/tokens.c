/*
 * tokens.c - prints the ids of each line of standard input, for
 * tools/check_tokenizers.py.
 *
 *   tokens FOLDER CONTEXT [lower | mask]
 *
 * mask: at most as many tokens as the files say; behind the ids and "|" which
 * of them the model sees.
 * A line that is refused gives "-". To standard error: the seconds that opening
 * took, the identity, the messages.
 */
#include "base/clock.h"
#include "base/memory.h"
#include "text/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    vt_tokenizer *t = NULL;
    char *line = NULL, identity[65];
    size_t cap = 0;
    ssize_t n;
    long context = argc > 2 ? atol(argv[2]) : 0;
    int32_t *ids = calloc((size_t)context + 1, sizeof *ids);
    const bool masked = argc > 3 && strcmp(argv[3], "mask") == 0;
    const double begin = vt_now_ms();

    if (!ids || context < 1 || context > 1 << 20) {
        fprintf(stderr, "usage: tokens FOLDER CONTEXT [lower | mask]\n");
        return 2;
    }
    if (vt_tokenizer_open(&t, argv[1], true, argc > 3 && !masked) != VITCL_OK) {
        fprintf(stderr, "tokens: %s\n", vitcl_last_error());
        return 1;
    }
    vt_tokenizer_identity(identity, t);
    fprintf(stderr, "%.3f s, %u pieces, context %u, end %d, %s\n",
            (vt_now_ms() - begin) / 1000, vt_tokenizer_vocabulary(t),
            vt_tokenizer_context(t), vt_tokenizer_end(t), identity);
    if (masked && vt_tokenizer_context(t))
        context = VT_MIN(context, (long)vt_tokenizer_context(t));
    while ((n = getline(&line, &cap, stdin)) > 0) {
        uint32_t count;

        n -= line[n - 1] == '\n';
        if (vt_tokenizer_encode(ids, &count, t, (uint32_t)context, line,
                                (size_t)n) != VITCL_OK) {
            fprintf(stderr, "tokens: %s\n", vitcl_last_error());
            puts("-");
            continue;
        }
        for (long i = 0; i < context; i++)
            printf(i ? " %d" : "%d", ids[i]);
        for (long i = 0; i < context && masked; i++)
            printf(i ? " %d" : "|%d",
                   vt_tokenizer_sees(t, (uint32_t)i, count, (uint32_t)context));
        putchar('\n');
    }
    free(line);
    free(ids);
    vt_tokenizer_free(t);
    return 0;
}
