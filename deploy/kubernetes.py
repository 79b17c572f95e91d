"""Select on Kubernetes: the Dask operator starts the workers, this script is the driver.

Needs the operator in the cluster, ``pip install 'tvselect[cli,dask]' dask-kubernetes`` here, the
same Python and libraries as in the image (deploy/Dockerfile), and a volume with the table that is
mounted at /data in the workers and here::

    python deploy/kubernetes.py --image registry.example/tvselect --claim genomes --workers 20 -- \
        select /data/study.bed --phenotype /data/pheno.tsv --target height

What stands behind ``--`` are the arguments of ``tvs``. ``--spec`` prints what the operator is
asked for, and ends.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from dask_kubernetes.operator import KubeCluster, make_cluster_spec

from tvselect.cli import main as tvs


def spec_of(options: argparse.Namespace) -> dict[str, Any]:
    """Workers of one thread each that see the volume."""
    spec: dict[str, Any] = make_cluster_spec(
        name="tvselect",
        image=options.image,
        n_workers=options.workers,
        worker_command=["dask", "worker", "--nthreads", "1"],
        resources={"limits": {"cpu": "1", "memory": options.memory}},
    )
    pod = spec["spec"]["worker"]["spec"]
    if options.claim:
        claim = {"claimName": options.claim, "readOnly": True}
        pod["volumes"] = [{"name": "data", "persistentVolumeClaim": claim}]
        pod["containers"][0]["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    return spec


def main() -> int:
    """Start the workers and run tvs; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--image", required=True)
    parser.add_argument("--claim", help="persistent volume claim with the table")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--memory", default="4Gi", help="of a worker")
    parser.add_argument("--spec", action="store_true", help="print it and end")
    parser.add_argument("arguments", nargs="*", help="-- and the arguments of tvs")
    options = parser.parse_args()
    spec = spec_of(options)
    if options.spec:
        print(json.dumps(spec, indent=2))
        return 0
    with KubeCluster(custom_cluster_spec=spec) as cluster:
        print("waiting for the first worker", file=sys.stderr)
        cluster.wait_for_workers(1)
        return tvs([*options.arguments, "--cluster", cluster.scheduler_address])


if __name__ == "__main__":
    sys.exit(main())
