/*
 * unigram.c - Viterbi's algorithm: the best way to each place of the text.
 *
 * In a tie the way found first stays, as in SentencePiece and tokenizers.
 */
#include "text/unigram.h"

#include "base/stop.h"

#include <string.h>

#define PENALTY 10.0 /* of an unknown character, below the least score */

typedef struct node { /* a place: the best way here ends with this piece */
    double score;
    size_t from;
    int32_t id; /* -1: no way leads here yet */
} node;

static double sum(const vt_unigram *u, double a, double b)
{
    return u->types ? (double)(float)(a + b) : a + b;
}

static void reach(node *to, double score, size_t from, int32_t id)
{
    if (to->id < 0 || score > to->score)
        *to = (node){score, from, id};
}

/* All pieces that begin at `at`; and an unknown character, where none is just
 * this character. */
static void leave(const vt_unigram *u, node *nodes, const char *s, size_t at,
                  size_t n, size_t character)
{
    vt_prefix p = vt_prefix_begin(u->vocab, s + at);
    const double here = nodes[at].score;
    bool single = false;

    n = VT_MIN(n - at, u->vocab->reach[(unsigned char)s[at]]);
    while (p.n < n) {
        const int32_t id = vt_prefix_next(&p);
        double score;

        if (id < 0)
            continue;
        score = u->scores[id];
        if (u->types) {
            if (u->types[id] == VT_SPM_USER)
                score = (double)((float)p.n * (float)u->most) - 0.1;
            else if (u->types[id] != VT_SPM_NORMAL)
                continue;
        }
        reach(&nodes[at + p.n], sum(u, score, here), at, id);
        single |= p.n == character;
    }
    if (!single)
        reach(&nodes[at + character], sum(u, sum(u, u->least, -PENALTY), here),
              at, u->unknown);
}

/* The pieces of the best way, from `end` back: each node gets its successor. */
static size_t turn_round(node *nodes, size_t end)
{
    size_t after = end;

    while (end > 0) {
        const size_t from = nodes[end].from;

        nodes[end].from = after;
        after = end;
        end = from;
    }
    return after;
}

/* Appends a piece, or a run of unknown characters. */
static vitcl_status add_run(vt_ids *out, const vt_unigram *u, const char *s,
                            size_t n, int32_t id)
{
    if (id != u->unknown)
        return vt_ids_add(out, id);
    if (!u->types && (id = vt_vocab_find(u->vocab, s, n)) >= 0)
        return vt_ids_add(out, id);
    if (!u->fallback)
        return vt_ids_add(out, u->unknown);
    for (size_t i = 0; i < n; i++)
        VT_RET(vt_ids_add(out, u->byte[(unsigned char)s[i]]));
    return VITCL_OK;
}

vitcl_status vt_unigram_encode(vt_ids *out, const vt_unigram *u, const char *s,
                               size_t n)
{
    vitcl_status st = VITCL_OK;
    node *nodes = NULL;

    if (n == 0)
        return VITCL_OK;
    VT_TRY(VT_NEW(&nodes, n + 1));
    for (size_t i = 1; i <= n; i++)
        nodes[i].id = -1;
    for (size_t at = 0, character; at < n; at += character) {
        VT_TRY(vt_stop_look());
        vt_chars_code(&character, s + at, n - at);
        leave(u, nodes, s, at, n, character);
    }
    /* at a place between characters nobody begins, so that each end is one */
    for (size_t at = 0, end = turn_round(nodes, n); at < n;) {
        const int32_t id = nodes[end].id;
        size_t next = nodes[end].from;

        while (id == u->unknown && end < n && nodes[next].id == id) {
            end = next;
            next = nodes[end].from;
        }
        VT_TRY(add_run(out, u, s + at, end - at, id));
        at = end;
        end = next;
    }
done:
    free(nodes);
    return st;
}
