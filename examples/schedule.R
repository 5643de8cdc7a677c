# Problems and schedules as tables, in base R: a data frame of jobs goes out as CSV, allocsolve schedules it, and
# the schedule comes back as a data frame.
#
#     Rscript schedule.R
#
# `allocsolve` must be on the PATH. (The tests run this file where there is an Rscript; none was at hand when it was
# written.)

jobs <- data.frame(
  application = c("climate", "climate", "climate", "mesh", "mesh", "mesh", "post", "post"),
  duration = c(1200, 900, 300, 900, 900, 900, 600, 600),  # seconds of each step
  nodes = c(6, 5, 3, 10, 6, 8, 5, 9),
  num_nodes = 12                                          # of the cluster, the same in all rows
)
write.csv(jobs, "jobs.csv", row.names = FALSE)

solve <- function(solver) {
  out <- paste0(solver, ".csv")
  arguments <- c("solve", "jobs.csv", "--solver", solver, "--out", out, "--force")
  status <- system2("allocsolve", arguments, stdout = FALSE)
  if (status != 0) stop("allocsolve failed")
  read.csv(out)
}

for (solver in c("noX", "cpsat")) {
  schedule <- solve(solver)
  cat(solver, "makespan", max(schedule$start + schedule$duration), "s\n")
}
print(aggregate(start ~ application, schedule, min))
