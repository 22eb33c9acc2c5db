module my-loop

go 1.19
