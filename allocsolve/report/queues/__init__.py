"""When queued jobs will start, from the queue that `squeue` prints."""
