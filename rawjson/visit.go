package rawjson

// Object calls visit for each member of the object in data, with the member's
// name and its value's bytes. Both point into data, unless the name is written
// with escapes. It stops at the first error, visit's included. Values are
// checked to be JSON before visit sees them.
func Object(data []byte, visit func(name, value []byte) error) error {
	s := scanner{data: data}
	s.space()
	if err := s.members(func([]byte) error { return s.skip() }, visit); err != nil {
		return err
	}
	return s.end()
}

// Member returns the value of a member of the object in data, or nil if there is
// none or data is no object.
func Member(data []byte, member string) (found []byte) {
	err := Object(data, func(name, value []byte) error {
		if string(name) == member {
			found = value
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return found
}

// Nested is [Object] that on its way also calls inner for each member of the
// object that member is, if it is one: before it calls visit for member itself.
// A nil inner is not called.
func Nested(data []byte, member string, visit, inner func(name, value []byte) error) error {
	s := scanner{data: data}
	skip := func([]byte) error { return s.skip() }
	s.space()
	err := s.members(func(name []byte) error {
		if inner != nil && string(name) == member && s.pos < len(data) && data[s.pos] == '{' {
			return s.members(skip, inner)
		}
		return s.skip()
	}, visit)
	if err != nil {
		return err
	}
	return s.end()
}

// members steps over an object, over each value with step, and calls visit for
// each member.
func (s *scanner) members(step func(name []byte) error, visit func(name, value []byte) error) error {
	if s.pos >= len(s.data) || s.data[s.pos] != '{' {
		return s.fail("an object")
	}
	if err := s.open(); err != nil {
		return err
	}
	s.space()
	if s.take('}') {
		s.depth--
		return nil
	}
	for {
		name, err := s.name()
		if err != nil {
			return err
		}
		start := s.pos
		if err := step(name); err != nil {
			return err
		}
		if err := visit(name, s.data[start:s.pos]); err != nil {
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

// Array calls visit for each element of the array in data, as [Object] does for
// members.
func Array(data []byte, visit func(value []byte) error) error {
	s := scanner{data: data}
	s.space()
	if !s.take('[') {
		return s.fail("an array")
	}
	s.depth = 1
	s.space()
	if s.take(']') {
		return s.end()
	}
	for {
		s.space()
		start := s.pos
		if err := s.skip(); err != nil {
			return err
		}
		if err := visit(data[start:s.pos]); err != nil {
			return err
		}
		s.space()
		switch {
		case s.take(','):
		case s.take(']'):
			return s.end()
		default:
			return s.fail("',' or ']'")
		}
	}
}

// Valid reports what keeps data from being one JSON value, or nil.
func Valid(data []byte) error {
	s := scanner{data: data}
	s.space()
	if err := s.skip(); err != nil {
		return err
	}
	return s.end()
}
