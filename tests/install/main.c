/* main.c - what a program outside the tree looks like: it lists the devices,
 * and says how large the pictures are that it is given. */
#include <stdio.h>
#include <vitcl.h>

int main(int argc, char **argv)
{
    vitcl_device_info info = {.size = sizeof info};
    for (uint32_t i = 0; vitcl_device_list(&info, i) == VITCL_OK; i++)
        printf("%s %s\n", info.id, info.name);
    for (int i = 1; i < argc; i++) {
        vitcl_image image;
        if (vitcl_image_load(&image, argv[i]) != VITCL_OK)
            return fprintf(stderr, "%s\n", vitcl_last_error()), 1;
        printf("picture %ux%u\n", image.width, image.height);
        vitcl_image_free(&image);
    }
    return printf("vitcl %s\n", vitcl_version()) < 0;
}
