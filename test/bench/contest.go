package main

import (
	"slices"
	"time"
)

// sample is what one target took in one round. What does not apply is 0.
type sample struct {
	cpu  time.Duration // per call
	p50  time.Duration // of the time a call took
	p99  time.Duration
	rate float64 // calls per second
	rss  int64   // bytes
	each float64 // bytes of it that stay for each call
}

// metric is a figure of a sample.
type metric func(sample) float64

func cpu(s sample) float64  { return float64(s.cpu) }
func p50(s sample) float64  { return float64(s.p50) }
func p99(s sample) float64  { return float64(s.p99) }
func rate(s sample) float64 { return s.rate }
func rss(s sample) float64  { return float64(s.rss) }
func each(s sample) float64 { return s.each }

// target is something that can be measured.
type target struct {
	name    string
	measure func() (sample, error)
}

// contest is the outcome of a comparison: the samples of each target, by round.
type contest struct {
	names   []string
	samples map[string][]sample
}

// compare measures every target once in each round, in an order that is reversed
// from round to round.
func compare(rounds int, targets []target) (contest, error) {
	c := contest{samples: map[string][]sample{}}
	for _, t := range targets {
		c.names = append(c.names, t.name)
	}
	for round := range rounds {
		for i, t := range targets {
			if round%2 == 1 {
				t = targets[len(targets)-1-i]
			}
			s, err := t.measure()
			if err != nil {
				return c, err
			}
			c.samples[t.name] = append(c.samples[t.name], s)
		}
	}
	return c, nil
}

func (c contest) values(name string, m metric) []float64 {
	var v []float64
	for _, s := range c.samples[name] {
		v = append(v, m(s))
	}
	return v
}

// median returns the median of a target's figures.
func (c contest) median(name string, m metric) float64 { return median(c.values(name, m)) }

// least returns the least of a target's figures.
func (c contest) least(name string, m metric) float64 { return slices.Min(c.values(name, m)) }

// rename calls a target something else, for the table.
func (c contest) rename(from, to string) {
	c.names[slices.Index(c.names, from)] = to
	c.samples[to] = c.samples[from]
	delete(c.samples, from)
}

// ratio returns the median of the ratios of two targets in the same round.
func (c contest) ratio(a, b string, m metric) float64 {
	over, under := c.values(a, m), c.values(b, m)
	for i := range over {
		over[i] /= under[i]
	}
	return median(over)
}

// added returns the median of what one target takes more than another in the same
// round.
func (c contest) added(a, b string, m metric) float64 {
	more, than := c.values(a, m), c.values(b, m)
	for i := range more {
		more[i] -= than[i]
	}
	return median(more)
}

// median returns the median of v, which it sorts.
func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
}
