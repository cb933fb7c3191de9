#!/usr/bin/env python3
"""spark.py PICTURES FOLDER N - classify pictures by N tasks of PySpark.

FOLDER is on a file system that all workers share. A task that fails or is lost is
started again by Spark; a part that is finished is not computed again.
"""
import subprocess
import sys

from pyspark.sql import SparkSession

pictures, folder, n = sys.argv[1], sys.argv[2], int(sys.argv[3])


def work(k):
    subprocess.run(["vitcl", "classify", pictures, "--shard", f"{k}/{n}",
                    "-o", f"{folder}/part-{{shard}}.jsonl"], check=True)


spark = SparkSession.builder.appName("vitcl").getOrCreate()
spark.sparkContext.parallelize(range(1, n + 1), n).foreach(work)
spark.stop()
sys.exit(subprocess.run(["vitcl", "merge", folder]).returncode)
