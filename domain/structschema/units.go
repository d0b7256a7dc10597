package structschema

import (
	"encoding"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size. In a file it is a number of bytes, or text with a unit:
// 10MiB is 10 x 1024 x 1024, 10MB is 10 x 1000 x 1000. Units are B, kB, KiB, MB,
// MiB, GB, GiB, TB and TiB in any case; a bare "10M" is rejected because it may
// mean either of the two.
type Bytes int64

// prefixes are the letters before the B of a unit, each a thousand times the one
// before.
const prefixes = "kmgt"

// String returns b in the largest binary unit that divides it, such as 10MiB,
// and otherwise as a plain number.
func (b Bytes) String() string {
	unit, n := "", int64(b)
	for i := 0; i < len(prefixes) && n != 0 && n%1024 == 0; i++ {
		n /= 1024
		unit = strings.ToUpper(prefixes[i:i+1]) + "iB"
	}
	return strconv.FormatInt(n, 10) + unit
}

// ParseBytes reads the notation described at [Bytes]. A fraction is allowed
// before a unit and rounded down to whole bytes.
func ParseBytes(s string) (Bytes, error) {
	digits := strings.TrimRight(s, "bBiIkKmMgGtT")
	unit := strings.ToLower(s[len(digits):])
	number := strings.TrimSuffix(digits, " ")
	whole, fraction, point := strings.Cut(number, ".")
	factor := unitFactor(unit)
	if factor == 0 || !isDigits(whole) || point && !isDigits(fraction) || unit == "" && (point || number != digits) {
		return 0, fmt.Errorf("%.60q is not a size such as 10MiB", s)
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if f, _ := strconv.ParseFloat(number, 64); point && f*float64(factor) < math.MaxInt64 {
		return Bytes(f * float64(factor)), nil
	}
	if err != nil || n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%.60q is more than fits in 63 bits", s)
	}
	return Bytes(n * factor), nil
}

// unitFactor returns the number of bytes in a unit given in lower case, or 0.
func unitFactor(unit string) int64 {
	factor := int64(1)
	if unit == "" || unit == "b" {
		return factor
	}
	for i := range len(prefixes) {
		factor *= 1000
		switch unit {
		case prefixes[i:i+1] + "b":
			return factor
		case prefixes[i:i+1] + "ib":
			return 1 << (10 * (i + 1))
		}
	}
	return 0
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// ParseDuration reads text such as 1m30s, or a plain number of seconds.
func ParseDuration(s string) (time.Duration, error) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if n > math.MaxInt64/int64(time.Second) || n < math.MinInt64/int64(time.Second) {
			return 0, strconv.ErrRange
		}
		return time.Duration(n) * time.Second, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || strings.Trim(s, "+-.0123456789eE") != "" || math.Abs(f) > math.MaxInt64/float64(2*time.Second) {
		return 0, fmt.Errorf("%.60q is not a duration such as 30s", s)
	}
	return time.Duration(math.Round(f * float64(time.Second))), nil
}

// FormatDuration writes d as [ParseDuration] reads it, without the zero parts
// that [time.Duration.String] adds: 10m, not 10m0s.
func FormatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// textOf returns the text of a value whose type has one.
func textOf(v reflect.Value) string {
	if m, ok := v.Interface().(encoding.TextMarshaler); ok {
		if text, err := m.MarshalText(); err == nil {
			return string(text)
		}
	}
	return fmt.Sprint(v.Interface())
}
