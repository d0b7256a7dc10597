package yamlconf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bytes is a size. In the file it is a number of bytes, or text with a unit:
// 10MiB is 10 x 1024 x 1024, 10MB is 10 x 1000 x 1000. Units are B, kB, KiB, MB,
// MiB, GB, GiB, TB and TiB in any case; a bare "10M" is refused because nobody
// knows which of the two it means.
type Bytes int64

// units are the factors of the letter before the final B.
const units = "kmgt"

// String returns b in the largest binary unit that divides it, such as 10MiB,
// and otherwise as a plain number.
func (b Bytes) String() string {
	unit, n := "", int64(b)
	for i := 0; i < len(units) && n != 0 && n%1024 == 0; i++ {
		n /= 1024
		unit = strings.ToUpper(units[i:i+1]) + "iB"
	}
	return strconv.FormatInt(n, 10) + unit
}

// ParseBytes reads the notation described at [Bytes]. A fraction is allowed
// before a unit and rounded down to whole bytes.
func ParseBytes(s string) (Bytes, error) {
	digits := strings.TrimRight(s, "bBiIkKmMgGtT")
	unit := strings.ToLower(s[len(digits):])
	number := strings.TrimSuffix(digits, " ")
	factor, ok := unitFactor(unit)
	if !ok || number == "" || unit == "" && number != digits {
		return 0, fmt.Errorf("%q is not a size such as 10MiB", clip(s))
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && isDigits(number) {
		if n > math.MaxInt64/factor {
			return 0, fmt.Errorf("%q is more than fits in 63 bits", clip(s))
		}
		return Bytes(n * factor), nil
	}
	whole, fraction, point := strings.Cut(number, ".")
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || !point || unit == "" || !isDigits(whole) || !isDigits(fraction) {
		return 0, fmt.Errorf("%q is not a size such as 10MiB", clip(s))
	}
	if f*float64(factor) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is more than fits in 63 bits", clip(s))
	}
	return Bytes(f * float64(factor)), nil
}

// unitFactor is the number of bytes in a unit given in lower case.
func unitFactor(unit string) (int64, bool) {
	if unit == "" || unit == "b" {
		return 1, true
	}
	prefix, ok := strings.CutSuffix(unit, "b")
	step := int64(1000)
	if binary, is := strings.CutSuffix(prefix, "i"); is {
		prefix, step = binary, 1024
	}
	power := strings.Index(units, prefix)
	if !ok || len(prefix) != 1 || power < 0 {
		return 0, false
	}
	factor := int64(1)
	for range power + 1 {
		factor *= step
	}
	return factor, true
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// parseDuration reads text such as 1m30s, or a plain number of seconds.
func parseDuration(s string) (time.Duration, bool) {
	if d, err := time.ParseDuration(s); err == nil {
		return d, true
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return seconds(n)
	}
	if strings.Trim(s, "+-.0123456789eE") != "" {
		return 0, false // spares ParseFloat's words and hexadecimal floats
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.Abs(f) > math.MaxInt64/float64(2*time.Second) {
		return 0, false
	}
	return time.Duration(math.Round(f * float64(time.Second))), true
}

func seconds(n int64) (time.Duration, bool) {
	const limit = int64(math.MaxInt64 / time.Second)
	return time.Duration(n) * time.Second, n <= limit && n >= -limit
}

// formatDuration writes d as parseDuration reads it, without the zero parts
// that [time.Duration.String] adds: 10m, not 10m0s.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
