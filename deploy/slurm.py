"""Select on the nodes of a Slurm cluster: Dask's workers are jobs, this script is the driver.

Needs ``pip install 'tvselect[cli,dask]' dask-jobqueue`` in an environment that all nodes see. Run
it on a login node, or as a job of its own::

    python deploy/slurm.py --queue normal --jobs 20 -- select study.bed --phenotype pheno.tsv \
        --target height

What stands behind ``--`` are the arguments of ``tvs``. ``--script`` prints the job that every
worker is, and ends.
"""

from __future__ import annotations

import argparse
import sys

from dask_jobqueue import SLURMCluster

from tvselect.cli import main as tvs


def cluster_of(options: argparse.Namespace) -> SLURMCluster:
    """Workers of one thread each, several in a job."""
    return SLURMCluster(
        queue=options.queue,
        interface=options.interface,
        cores=options.cores,
        processes=options.cores,
        memory=options.memory,
        walltime=options.walltime,
    )


def main() -> int:
    """Start the workers and run tvs; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queue", help="partition; the default one")
    parser.add_argument("--interface", help="of the network between the nodes, as ib0")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cores", type=int, default=4, help="of a job; one worker each")
    parser.add_argument("--memory", default="16GB", help="of a job")
    parser.add_argument("--walltime", default="02:00:00")
    parser.add_argument("--script", action="store_true", help="print the job and end")
    parser.add_argument("arguments", nargs="*", help="-- and the arguments of tvs")
    options = parser.parse_args()
    with cluster_of(options) as cluster:
        if options.script:
            print(cluster.job_script())
            return 0
        cluster.scale(jobs=options.jobs)
        print("waiting for the first worker", file=sys.stderr)
        cluster.wait_for_workers(1)
        return tvs([*options.arguments, "--cluster", cluster.scheduler_address])


if __name__ == "__main__":
    sys.exit(main())
