(* allocsolve-verified FILE [OUT]: reads a problem and a certificate, as docs/trust.md describes them, calls the
   proven checkers and prints their answer. With OUT it writes the clauses that it has checked to OUT.cnf and their
   refutation to OUT.lrat, for other programs. *)
open Checker
open Numbers

exception Malformed of string

let name = ref ""
let channel = ref stdin
let fail what = raise (Malformed (Printf.sprintf "byte %d: %s" (pos_in !channel) what))

(* A word ends with a single blank or the end of its line. *)
let word () =
  let buffer = Buffer.create 20 in
  let rec go () = match input_char !channel with
    | ' ' | '\n' -> ()
    | c -> Buffer.add_char buffer c; go ()
    | exception End_of_file -> () in
  go ();
  Buffer.contents buffer

(* At most 18 digits, which OCaml's integers hold. *)
let number () =
  let rec digits count value = match input_char !channel with
    | '0' .. '9' when count = 18 -> fail "this number has more than 18 digits"
    | '0' .. '9' as c -> digits (count + 1) ((10 * value) + Char.code c - 48)
    | (' ' | '\n') when count > 0 -> value
    | _ -> fail "this is no number"
    | exception End_of_file -> if count > 0 then value else fail "the file ends too early" in
  match input_char !channel with
  | '-' -> -digits 0 0
  | '0' .. '9' as c -> digits 1 (Char.code c - 48)
  | _ -> fail "this is no number"
  | exception End_of_file -> fail "the file ends too early"

let count () = let n = number () in if n < 0 then fail "this is no count" else n
let above_zero () = let n = number () in if n < 1 then fail "this number is below 1" else n

(* The first one read is the last of the list, or the first. *)
let reversed n f = let rec go n read = if n = 0 then read else let x = f () in go (n - 1) (x :: read) in go n []
let several n f = List.rev (reversed n f)

let measure () = match word () with
  | "turnaround" -> Turnaround
  | "wait" -> Wait
  | "slowdown" -> Slowdown
  | _ -> fail "this measure is unknown"
let measure_name = function Turnaround -> "turnaround" | Wait -> "wait" | Slowdown -> "slowdown"

let rule () = match word () with
  | "longest" -> Longest
  | "area" -> Area
  | "wide" -> Wide
  | _ -> fail "this rule is unknown"

(* What was read so far is the problem: its digest says which one it is. *)
let print_problem () = Printf.printf "problem %s\n%!" (Sha256.of_file !name (pos_in !channel))

let refused () = print_endline "refused"; exit 1

let bound name = function
  | None -> refused ()
  | Some (numerator, denominator) -> Printf.sprintf "%s >= %s / %s" name (text numerator) (text denominator)

(* One price of a node for all jobs. *)
let time_prices check =
  let unit = z (number ()) in let first = z (number ()) in
  check unit first (several (count ()) (fun () -> let length = z (number ()) in (length, z (number ()))))

let last_end ticks num_nodes jobs =
  let rule = rule () in
  bound "makespan" (check_end ticks rule num_nodes (z (number ())) jobs)

(* Jobs that may run with one of several sizes. *)
let moldable_workload () =
  let num_nodes = z (number ()) in
  let jobs = count () in
  let ticks = z (number ()) in
  let jobs = several jobs (fun () ->
    let submit = z (number ()) in let weight = z (number ()) in
    several (count ()) (fun () -> let runtime = z (number ()) in { submit; runtime; nodes = z (number ()); weight })) in
  print_problem ();
  match word () with
  | "time-prices" ->
    if measure () <> Turnaround then fail "of moldable jobs the turnaround only is bounded by prices";
    bound "turnaround" (time_prices (fun unit first prices ->
      check_moldable_time_prices ticks num_nodes unit first prices jobs))
  | "last-end" -> last_end ticks num_nodes jobs
  | other -> fail (other ^ " is no certificate")

(* Jobs on a machine with several resources, of which some is closed in windows. *)
let machine_workload () =
  let resources = count () in
  let jobs = count () in
  let ticks = z (number ()) in
  let numbers () = several resources (fun () -> z (number ())) in
  let machine = several resources (fun () ->
    let total = z (number ()) in
    { total; closed = several (count ()) (fun () ->
      let closes = z (number ()) in let opens = z (number ()) in { closes; opens; amount = z (number ()) }) }) in
  let jobs = several jobs (fun () ->
    let submit = z (number ()) in let eligible = z (number ()) in let runtime = z (number ()) in
    let weight = z (number ()) in
    { plain = { submit; runtime; nodes = z 0; weight }; eligible; needs = numbers () }) in
  print_problem ();
  if word () <> "machine-prices" then fail "this is no certificate of a machine";
  let m = measure () in let unit = z (number ()) in let first = z (number ()) in
  let pieces = several (count ()) (fun () -> let length = z (number ()) in (length, numbers ())) in
  bound (measure_name m) (check_machine_prices ticks m machine unit first pieces jobs)

let workload () =
  let num_nodes = z (number ()) in
  let jobs = count () in
  let ticks = z (number ()) in
  let jobs = several jobs (fun () ->
    let submit = z (number ()) in let runtime = z (number ()) in let nodes = z (number ()) in
    { submit; runtime; nodes; weight = z (number ()) }) in
  print_problem ();
  match word () with
  | "job-prices" ->
    let m = measure () in let unit = z (number ()) in let divisor = z (number ()) in
    let slots = reversed (count ()) (fun () ->  (* The checker takes the latest slot first. *)
      let s_begin = z (number ()) in let s_len = z (number ()) in
      let s_items = several (count ()) (fun () ->
        let who = positive (above_zero ()) in let size = z (number ()) in { who; size; cost = z (number ()) }) in
      { s_begin; s_len; s_items }) in
    bound (measure_name m) (check_job_prices ticks m num_nodes unit divisor jobs slots)
  | "time-prices" ->
    let m = measure () in
    bound (measure_name m) (time_prices (fun unit first prices ->
      check_time_prices ticks m num_nodes unit first prices jobs))
  | "last-end" -> last_end ticks num_nodes (List.map (fun j -> [ j ]) jobs)
  | other -> fail (other ^ " is no certificate")

let kind () = match word () with
  | "release" -> Release (nat (count ()))
  | "deadline" -> Deadline (nat (count ()))
  | "cycle" -> Cycle
  | "cover" -> Cover (several (count ()) (fun () ->
      let owner = nat (count ()) in let first = nat (count ()) in { owner; first; count = nat (count ()) }))
  | _ -> fail "this kind of clause is unknown"

let rec until_zero f read = match number () with 0 -> List.rev read | n -> until_zero f (f n :: read)
let literal n = (n > 0, positive (abs n))

let write_dimacs out variables clauses lines =
  let number p = text (z_of_positive p) in
  let literals c = String.concat "" (List.map (fun (sign, p) -> (if sign then "" else "-") ^ number p ^ " ") c) in
  let cnf = open_out_bin (out ^ ".cnf") in
  Printf.fprintf cnf "p cnf %d %d\n" variables (List.length clauses);
  List.iter (fun (_, c) -> Printf.fprintf cnf "%s0\n" (literals c)) clauses;
  close_out cnf;
  let lrat = open_out_bin (out ^ ".lrat") in
  List.iter (fun l ->
    let hints = List.map (fun p -> (true, p)) l.hints in
    Printf.fprintf lrat "%s %s0 %s0\n" (number l.id) (literals l.derived) (literals hints)) lines;
  close_out lrat

(* The makespan that a refutation of clauses bounds. *)
let refutation out num_nodes applications =
  let value = number () in
  let variables = count () in let clauses = count () in let lines = count () in
  let names = ref PositiveMap.empty in
  for k = 1 to variables do
    let earlier = nat (count ()) in let later = nat (count ()) in
    names := PositiveMap.add (positive k) { earlier; later; gap = z (number ()) } !names
  done;
  let clauses = several clauses (fun () -> let k = kind () in (k, until_zero literal [])) in
  let lines = several lines (fun () ->
    let id = positive (above_zero ()) in let derived = until_zero literal [] in
    { id; derived; hints = until_zero (fun n -> if n < 0 then fail "this is no hint" else positive n) [] }) in
  if not (check_refutation num_nodes (z value) applications !names clauses lines) then refused ();
  Option.iter (fun out -> write_dimacs out variables clauses lines) out;
  z value

let profiles out =
  let num_nodes = z (number ()) in
  let applications = several (count ()) (fun () ->
    let release = z (number ()) in
    { release; steps = several (count ()) (fun () -> let seconds = z (number ()) in (seconds, z (number ()))) }) in
  print_problem ();
  let scheduled, next = match word () with
    | "schedule" ->
      let value = z (number ()) in
      let starts = several (List.length applications) (fun () -> z (number ())) in
      if not (check_schedule num_nodes value applications starts) then refused ();
      (Some value, word ())
    | other -> (None, other) in
  let value = match next with
    | "refutation" -> refutation out num_nodes applications
    | "areas" -> (match check_areas num_nodes applications with Some value -> value | None -> refused ())
    | other -> fail (other ^ " is no certificate") in
  Printf.sprintf "makespan %s %s" (if Option.map text scheduled = Some (text value) then "=" else ">=") (text value)

let () =
  match Array.to_list Sys.argv with
  | _ :: file :: rest when List.length rest <= 1 ->
    (try
       name := file;
       channel := open_in_bin file;
       let answer = match word () with
         | "rigid-workload" -> workload ()
         | "machine-workload" -> machine_workload ()
         | "moldable-workload" -> moldable_workload ()
         | "evolution-profiles" -> profiles (List.nth_opt rest 0)
         | _ -> fail "this is no problem with a certificate" in
       if pos_in !channel < in_channel_length !channel then fail "there is something behind the certificate";
       print_endline ("verified " ^ answer)
     with
     | Malformed what -> Printf.eprintf "%s: %s\n" file what; exit 2
     | Sys_error what -> prerr_endline what; exit 2)
  | _ -> prerr_endline "usage: allocsolve-verified FILE [OUT]"; exit 2
