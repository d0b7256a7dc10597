package domain

import (
	"cmp"
	"encoding/json"
	"strings"
)

// decimal is a JSON number as 0.digits times ten to the power of point. Unlike
// a big.Rat it is never written out: 1e1000000 costs no more than its nine
// bytes.
type decimal struct {
	negative    bool
	whole, frac string // the digits, without zeros at either end; both empty for zero
	point       int
}

// maxExponent is where exponents stop to count: further than any message can
// move the point with its digits.
const maxExponent = 1 << 40

func parseDecimal(n json.Number) decimal {
	var d decimal
	mantissa, exponent := string(n), ""
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		mantissa, exponent = mantissa[:i], mantissa[i+1:]
	}
	mantissa, d.negative = strings.CutPrefix(mantissa, "-")
	d.whole, d.frac, _ = strings.Cut(mantissa, ".")
	d.whole, d.frac = strings.TrimLeft(d.whole, "0"), strings.TrimRight(d.frac, "0")
	d.point = len(d.whole) + parseExponent(exponent)
	if d.whole == "" {
		significant := strings.TrimLeft(d.frac, "0")
		d.point -= len(d.frac) - len(significant)
		d.frac = significant
	}
	if d.frac == "" {
		d.whole = strings.TrimRight(d.whole, "0")
	}
	return d
}

func parseExponent(s string) int {
	s, negative := strings.CutPrefix(s, "-")
	n := 0
	for _, digit := range strings.TrimPrefix(s, "+") {
		n = min(n*10+int(digit-'0'), maxExponent)
	}
	if negative {
		return -n
	}
	return n
}

func (d decimal) len() int { return len(d.whole) + len(d.frac) }

func (d decimal) digit(i int) byte {
	if i < len(d.whole) {
		return d.whole[i]
	}
	return d.frac[i-len(d.whole)]
}

func (d decimal) isInteger() bool { return d.point >= d.len() || d.len() == 0 }

func (d decimal) sign() int {
	switch {
	case d.len() == 0:
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// compare returns -1, 0 or 1 as d is less than, equal to or greater than other.
func (d decimal) compare(other decimal) int {
	if d.sign() != other.sign() || d.sign() == 0 {
		return cmp.Compare(d.sign(), other.sign())
	}
	return d.sign() * d.compareSize(other)
}

func (d decimal) compareSize(other decimal) int {
	if d.point != other.point {
		return cmp.Compare(d.point, other.point)
	}
	for i := range min(d.len(), other.len()) {
		if a, b := d.digit(i), other.digit(i); a != b {
			return cmp.Compare(a, b)
		}
	}
	return cmp.Compare(d.len(), other.len())
}
