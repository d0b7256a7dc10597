package domain

import "testing"

func TestUses(t *testing.T) {
	for uses, want := range map[Uses]string{
		0: "nothing", Reads: "reads", Reads | Writes | Runs: "reads, writes, runs", Fetches | Keeps: "fetches, keeps",
	} {
		if uses.String() != want {
			t.Errorf("%d is %s; want %s", uses, uses, want)
		}
	}
}
