/*
 * train_own_classes.c - fine-tune a checkpoint on your own classes.
 *
 *     train_own_classes MODEL PICTURES OUT
 *
 * PICTURES has the folders train/ and test/, and in each a folder a class.
 * OUT becomes a model folder: vitcl classify -m OUT photo.jpg
 */
#include <stdio.h>
#include <vitcl_train.h>

static int report(void *context, const vitcl_train_event *event)
{
    (void)context;
    if (event->saved)
        fprintf(stderr, "epoch %u of %u: loss %.3f\n", event->epoch,
                event->epochs, event->loss);
    return 0; /* anything else stops the training */
}

int main(int argc, char **argv)
{
    vitcl_device *device = NULL;
    vitcl_model *model = NULL;
    vitcl_session *session = NULL;
    vitcl_dataset *test = NULL;
    vitcl_train_event last = {.size = sizeof last};
    vitcl_scores scores = {.size = sizeof scores};

    if (argc != 4)
        return fprintf(stderr, "usage: train_own_classes MODEL PICTURES OUT\n"),
               2;
    const vitcl_train_options options = {.size = sizeof options,
                                         .model = argv[1],
                                         .data = argv[2],
                                         .split = "train",
                                         .output = argv[3],
                                         .epochs = 5,
                                         .batch = 8,
                                         .lr = 0.01,
                                         .random_state = 1};
    const vitcl_dataset_options part = {.size = sizeof part, .split = "test"};
    const int failed = vitcl_device_open(&device, NULL) ||
                       vitcl_train(&last, device, &options, report, NULL) ||
                       vitcl_model_load(&model, device, argv[3]) ||
                       vitcl_session_new(&session, model, NULL) ||
                       vitcl_dataset_open(&test, argv[2], &part) ||
                       vitcl_evaluate(&scores, NULL, session, test, NULL, NULL);

    if (failed)
        fprintf(stderr, "train_own_classes: %s\n", vitcl_last_error());
    else
        printf("%.1f %% of %u test pictures are right\n", 100 * scores.top1,
               scores.pictures);
    vitcl_dataset_free(test);
    vitcl_session_free(session);
    vitcl_model_free(model);
    vitcl_device_free(device);
    return failed;
}
