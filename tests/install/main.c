/* main.c - what a program outside the tree looks like: it lists the devices. */
#include <stdio.h>
#include <vitcl.h>

int main(void)
{
    vitcl_device_info info = {.size = sizeof info};
    for (uint32_t i = 0; vitcl_device_list(&info, i) == VITCL_OK; i++)
        printf("%s %s\n", info.id, info.name);
    return printf("vitcl %s\n", vitcl_version()) < 0;
}
