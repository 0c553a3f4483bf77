"""Pages of a live site to bytes, without being led anywhere else."""
