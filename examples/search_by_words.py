"""search_by_words.py - order pictures by how near they are to a text.

    python3 search_by_words.py MODEL TEXT PICTURE...

MODEL has a text tower, as CLIP and SigLIP have. Needs the package vitcl:
docs/python.md.
"""
import sys

import vitcl


def main():
    if len(sys.argv) < 4:
        sys.exit("usage: search_by_words.py MODEL TEXT PICTURE...")
    sys.stdout.reconfigure(errors="surrogateescape")  # any bytes in paths
    try:
        with vitcl.Model(sys.argv[1]) as model:
            words = model.embed_text(sys.argv[2], normalize=True)
            near = model.embed(sys.argv[3:], normalize=True) @ words
    except vitcl.VitclError as error:
        sys.exit(f"search_by_words.py: {error}")
    for cosine, path in sorted(zip(near, sys.argv[3:]), reverse=True):
        print(f"{cosine:.4f}\t{path}")


if __name__ == "__main__":
    main()
