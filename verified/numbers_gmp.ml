(* Numbers of Rocq are those of the GMP library here, which has to be trusted. *)
let positive = Big_int_Z.big_int_of_int
let z = Big_int_Z.big_int_of_int
let nat (n : int) = n
let z_of_positive p = p
let text = Big_int_Z.string_of_big_int
