/* main.c - a program outside of the tree: it lists the devices and prints the
 * size of each picture that it is given. */
#include <stdio.h>
#include <vitcl.h>

int main(int argc, char **argv)
{
    vitcl_device_info info = {.size = sizeof info};
    for (uint32_t i = 0; vitcl_device_at(&info, i) == VITCL_OK; i++)
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
