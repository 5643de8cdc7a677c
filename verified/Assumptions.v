(** * What the theorems assume: nothing but what Rocq's own real numbers assume *)
From Allocsolve Require Import JobPrices TimePrices Delays Ends Machines Makespan Areas.
Print Assumptions job_price_total_ok.
Print Assumptions time_price_total_ok.
Print Assumptions job_prices_bound_mean_delay.
Print Assumptions time_prices_bound_mean_delay.
Print Assumptions moldable_time_prices_bound_mean_turnaround.
Print Assumptions rules_bound_end.
Print Assumptions machine_prices_bound_mean_delay.
Print Assumptions refutation_bounds_makespan.
Print Assumptions schedule_and_refutation_are_optimal.
Print Assumptions areas_bound_makespan.
Print Assumptions schedule_and_areas_are_optimal.
