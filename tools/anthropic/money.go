package anthropic

import (
	"math/big"
	"strconv"
	"strings"
)

// A decimal is the number digits / 10^scale, exactly. Money is one: no binary
// fraction is ever near it. The zero decimal is 0.
type decimal struct {
	digits big.Int
	scale  int // at least 0
}

// Bounds of a number that is read as money: amounts of more digits, or so large
// or small that they would take as many to write out, are none.
const (
	maxDigits   = 400
	maxExponent = 400
)

// parseDecimal reads a number as JSON and its relatives write it: a sign, digits
// with or without a point among them, an exponent. It returns nil for anything
// else.
func parseDecimal(text string) *decimal {
	mantissa, exponent, ok := cutExponent(text)
	if !ok {
		return nil
	}
	unsigned, negative := strings.CutPrefix(mantissa, "-")
	if !negative {
		unsigned = strings.TrimPrefix(unsigned, "+")
	}
	whole, fraction, _ := strings.Cut(unsigned, ".")
	all := whole + fraction
	if all == "" || len(all) > maxDigits || strings.ContainsFunc(all, func(r rune) bool { return r < '0' || r > '9' }) {
		return nil
	}
	d := new(decimal)
	d.digits.SetString(all, 10)
	if negative {
		d.digits.Neg(&d.digits)
	}
	return d.shift(exponent - len(fraction))
}

// cutExponent splits a number from its exponent, which is 0 if it has none.
func cutExponent(text string) (mantissa string, exponent int, ok bool) {
	i := strings.IndexAny(text, "eE")
	if i < 0 {
		return text, 0, true
	}
	exponent, err := strconv.Atoi(text[i+1:])
	return text[:i], exponent, err == nil && -maxExponent <= exponent && exponent <= maxExponent
}

// shift returns d·10^n.
func (d *decimal) shift(n int) *decimal {
	out := &decimal{scale: max(d.scale-n, 0)}
	out.digits.Mul(&d.digits, powerOfTen(max(n-d.scale, 0)))
	return out
}

// add adds e to d.
func (d *decimal) add(e *decimal) {
	if d.scale < e.scale {
		d.digits.Mul(&d.digits, powerOfTen(e.scale-d.scale))
		d.scale = e.scale
	}
	more := &e.digits
	if e.scale < d.scale {
		more = new(big.Int).Mul(more, powerOfTen(d.scale-e.scale))
	}
	d.digits.Add(&d.digits, more)
}

func powerOfTen(n int) *big.Int {
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// text writes d as a JSON number with all of its decimals but zeros at the end,
// of which it leaves as many as it takes for least decimals.
func (d *decimal) text(least int) string {
	digits := new(big.Int).Abs(&d.digits).String()
	scale := d.scale
	if scale < least {
		digits += strings.Repeat("0", least-scale)
		scale = least
	}
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	whole, fraction := digits[:len(digits)-scale], digits[len(digits)-scale:]
	for len(fraction) > least && strings.HasSuffix(fraction, "0") {
		fraction = fraction[:len(fraction)-1]
	}
	if d.digits.Sign() < 0 {
		whole = "-" + whole
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}
