(** * The same programs with numbers of OCaml and of the GMP library, which then have to be trusted *)
From Coq Require Import FMapPositive Extraction ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt.
From Allocsolve Require Import Statement Delays Ends Machines Clauses Refutation Makespan Areas.
Extraction Language OCaml.
Set Warnings "-extraction-opaque-accessed".
Extraction "checker.ml"
  check_job_prices check_time_prices check_moldable_time_prices check_end check_machine_prices
  check_schedule check_refutation check_areas PositiveMap.add PositiveMap.empty.
