"""``headrace iibench``: the insert benchmark, whose client does not make the database wait.

The workload is that of iibench.py: a table with up to three secondary indexes that is inserted into at one end and
deleted from at the other, with range and point queries beside it. What is new is the client: rows are made in Rust and
counter-based, sending and receiving are split, latency is counted from when an operation was due, and what the table
holds afterwards is compared with what was made.

* :mod:`.options`, :mod:`.steps`: what to run;
* :mod:`.schedule`, :mod:`.verdict`: when operations are due, and whether a rate was sustained, without a clock;
* :mod:`.databases`: the SQL of each database; :mod:`.sessions`: each driver, one file each;
* :mod:`.worker`, :mod:`.writer`, :mod:`.producer`, :mod:`.deleter`, :mod:`.querier`: what runs in processes of its own;
* :mod:`.measure`: what a process notes second by second;
* :mod:`.bench`, :mod:`.crew`, :mod:`.host`, :mod:`.verify`: the run, its processes, /proc's figures, and the proof;
* :mod:`.results`, :mod:`.report`, :mod:`.page`: what is made of it.
"""
