package walk

import (
	"errors"
	"fmt"
)

const (
	maxGlob         = 4096 // bytes of a pattern
	maxAlternatives = 256  // what its braces may expand to
	maxBraceDepth   = 16
)

// expand returns the patterns that the braces of s stand for.
func expand(s string, depth int) ([]string, error) {
	if depth > maxBraceDepth {
		return nil, fmt.Errorf("braces are nested more than %d deep", maxBraceDepth)
	}
	done := []string{""}
	for i := 0; i < len(s); {
		n, err := unit(s[i:])
		if err != nil {
			return nil, err
		}
		var parts []string
		switch s[i] {
		case '}':
			return nil, errors.New("'}' without '{' (write \\} for the character itself)")
		case '{':
			var inner []string
			if n, inner, err = group(s[i:]); err != nil {
				return nil, err
			}
			for _, alt := range inner {
				sub, err := expand(alt, depth+1)
				if err != nil {
					return nil, err
				}
				parts = append(parts, sub...)
			}
		default:
			parts = []string{s[i : i+n]}
		}
		if done, err = product(done, parts); err != nil {
			return nil, err
		}
		i += n
	}
	return done, nil
}

func product(heads, tails []string) ([]string, error) {
	if len(heads)*len(tails) > maxAlternatives {
		return nil, fmt.Errorf("braces stand for more than %d patterns", maxAlternatives)
	}
	if len(tails) == 1 {
		for i := range heads {
			heads[i] += tails[0]
		}
		return heads, nil
	}
	all := make([]string, 0, len(heads)*len(tails))
	for _, h := range heads {
		for _, t := range tails {
			all = append(all, h+t)
		}
	}
	return all, nil
}

// unit returns the length of what must stay together at the start of s: an
// escaped character, a class, or a byte.
func unit(s string) (int, error) {
	switch s[0] {
	case '\\':
		if len(s) == 1 {
			return 0, errLastEscape
		}
		return 2, nil
	case '[':
		_, n, err := parseClass(s, true)
		return n, err
	}
	return 1, nil
}

// group splits the brace group at the start of s at its commas and returns its
// length.
func group(s string) (n int, alternatives []string, err error) {
	depth, start := 0, 1
	for i := 0; i < len(s); {
		n, err := unit(s[i:])
		if err != nil {
			return 0, nil, err
		}
		switch s[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 || depth == 1 && s[i] == ',' {
			alternatives = append(alternatives, s[start:i])
			start = i + 1
		}
		if depth == 0 {
			return i + 1, alternatives, nil
		}
		i += n
	}
	return 0, nil, errors.New("'{' without '}' (write \\{ for the character itself)")
}
