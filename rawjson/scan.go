package rawjson

// scanner walks over one JSON text.
type scanner struct {
	data  []byte
	pos   int
	depth int // of open arrays and objects

	values int // that may still be decoded
}

func (s *scanner) fail(want string) error { return &SyntaxError{s.pos, want} }

// end reports whether nothing but space follows.
func (s *scanner) end() error {
	s.space()
	if s.pos < len(s.data) {
		return s.fail("the end")
	}
	return nil
}

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\n', '\t', '\r':
			s.pos++
		default:
			return
		}
	}
}

// take steps over c if it comes next.
func (s *scanner) take(c byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// name steps over a member's name and its colon and stops at the value.
func (s *scanner) name() ([]byte, error) {
	raw, escaped, err := s.string()
	if err != nil {
		return nil, err
	}
	if escaped {
		raw = []byte(unescape(raw))
	}
	s.space()
	if !s.take(':') {
		return nil, s.fail("':'")
	}
	s.space()
	return raw, nil
}

// skip steps over one value.
func (s *scanner) skip() error {
	if s.pos >= len(s.data) {
		return s.fail("a value")
	}
	switch c := s.data[s.pos]; c {
	case '"':
		_, _, err := s.string()
		return err
	case '{':
		return s.skipObject()
	case '[':
		return s.skipArray()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		_, err := s.number()
		return err
	}
}

func (s *scanner) skipObject() error {
	if err := s.open(); err != nil {
		return err
	}
	s.space()
	if s.take('}') {
		s.depth--
		return nil
	}
	for {
		if _, _, err := s.string(); err != nil {
			return err
		}
		s.space()
		if !s.take(':') {
			return s.fail("':'")
		}
		s.space()
		if err := s.skip(); err != nil {
			return err
		}
		s.space()
		switch {
		case s.take(','):
			s.space()
		case s.take('}'):
			s.depth--
			return nil
		default:
			return s.fail("',' or '}'")
		}
	}
}

func (s *scanner) skipArray() error {
	if err := s.open(); err != nil {
		return err
	}
	s.space()
	if s.take(']') {
		s.depth--
		return nil
	}
	for {
		s.space()
		if err := s.skip(); err != nil {
			return err
		}
		s.space()
		switch {
		case s.take(','):
		case s.take(']'):
			s.depth--
			return nil
		default:
			return s.fail("',' or ']'")
		}
	}
}

// open steps into an array or object.
func (s *scanner) open() error {
	if s.depth++; s.depth > MaxDepth {
		return s.fail("less nesting")
	}
	s.pos++
	return nil
}

func (s *scanner) literal(word string) error {
	if end := s.pos + len(word); end <= len(s.data) && string(s.data[s.pos:end]) == word {
		s.pos = end
		return nil
	}
	return s.fail("a value")
}

// string steps over a string literal and returns what is between its quotes.
func (s *scanner) string() (raw []byte, escaped bool, err error) {
	if !s.take('"') {
		return nil, false, s.fail("a string")
	}
	start := s.pos
	for i := start; ; {
		i += plainLen(s.data[i:])
		if i == len(s.data) {
			s.pos = i
			return nil, false, s.fail("the end of a string")
		}
		switch s.data[i] {
		case '"':
			s.pos = i + 1
			return s.data[start:i], escaped, nil
		case '\\':
			escaped = true
			n := escapeLen(s.data[i:])
			if n == 0 {
				s.pos = i
				return nil, false, s.fail("an escape sequence")
			}
			i += n
		default:
			s.pos = i
			return nil, false, s.fail("no control character in a string")
		}
	}
}

// escapeLen returns the length of the escape sequence b starts with, or 0.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && hex4(b[2:6]) >= 0 {
			return 6
		}
	}
	return 0
}

// number steps over a number and returns it.
func (s *scanner) number() ([]byte, error) {
	start := s.pos
	s.take('-')
	if !s.take('0') && s.digits() == 0 {
		s.pos = start
		return nil, s.fail("a value")
	}
	if s.take('.') && s.digits() == 0 {
		return nil, s.fail("a digit")
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		if s.digits() == 0 {
			return nil, s.fail("a digit")
		}
	}
	return s.data[start:s.pos], nil
}

func (s *scanner) digits() (n int) {
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
		n++
	}
	return n
}
