#!/usr/bin/env python3
"""with_ray.py PICTURES FOLDER N - classify pictures by N tasks of Ray.

FOLDER is on a file system that all workers share. A task that fails or is lost is
started again by Ray; a part that is finished is not computed again.
"""
import subprocess
import sys

import ray

pictures, folder, n = sys.argv[1], sys.argv[2], int(sys.argv[3])


@ray.remote(max_retries=3, retry_exceptions=True)
def work(k):
    subprocess.run(["vitcl", "classify", pictures, "--shard", f"{k}/{n}",
                    "-o", f"{folder}/part-{{shard}}.jsonl"], check=True)


ray.init()
ray.get([work.remote(k) for k in range(1, n + 1)])
sys.exit(subprocess.run(["vitcl", "merge", folder]).returncode)
