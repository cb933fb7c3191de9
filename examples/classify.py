"""classify.py - name what pictures show.

    python3 classify.py MODEL PICTURE...

Needs the package vitcl: docs/python.md.
"""
import sys

import vitcl


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: classify.py MODEL PICTURE...")
    sys.stdout.reconfigure(errors="surrogateescape")  # any bytes in paths
    try:
        with vitcl.Model(sys.argv[1]) as model:
            for answer in model.stream(sys.argv[2:], top=3):
                for best in answer:
                    print(answer.picture, best.name, f"{best.probability:.3f}", sep="\t")
    except vitcl.VitclError as error:
        sys.exit(f"classify.py: {error}")


if __name__ == "__main__":
    main()
