package rawjson

import "iter"

// Object calls visit for each member of the object in data, with the member's
// name and its value's bytes. Both point into data, unless the name is written
// with escapes. It stops at the first error, visit's included. Values are
// checked to be JSON before visit sees them.
func Object(data []byte, visit func(name, value []byte) error) error {
	s := scanner{data: data}
	return s.whole(func() error { return s.members(visit, "", nil) })
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

// Nested is [Object] that also calls inner for each member of the object that
// member is, if it is one: before it calls visit for member itself.
func Nested(data []byte, member string, visit, inner func(name, value []byte) error) error {
	s := scanner{data: data}
	return s.whole(func() error { return s.members(visit, member, inner) })
}

// members steps over an object and calls visit for each member, and inner for
// each one of the object that the named member is.
func (s *scanner) members(visit func(name, value []byte) error, member string, inner func(name, value []byte) error) error {
	if s.next() != '{' {
		return s.fail("an object")
	}
	return s.elements('}', func() error {
		name, escaped, err := s.name()
		if err != nil {
			return err
		}
		if escaped {
			name = []byte(text(name, true))
		}
		start := s.pos
		if inner != nil && string(name) == member && s.next() == '{' {
			err = s.members(inner, "", nil)
		} else {
			err = s.skip()
		}
		if err != nil {
			return err
		}
		return visit(name, s.data[start:s.pos])
	})
}

// Array calls visit for each element of the array in data, as [Object] does for
// members.
func Array(data []byte, visit func(value []byte) error) error {
	s := scanner{data: data}
	return s.whole(func() error {
		if s.next() != '[' {
			return s.fail("an array")
		}
		return s.elements(']', func() error {
			start := s.pos
			if err := s.skip(); err != nil {
				return err
			}
			return visit(data[start:s.pos])
		})
	})
}

// Valid returns what keeps data from being one JSON value, or nil.
func Valid(data []byte) error {
	s := scanner{data: data}
	return s.whole(s.skip)
}

// Strings yields where each string literal of data, names included, starts and
// ends. It stops where data is not JSON.
func Strings(data []byte) iter.Seq2[int, int] {
	return func(yield func(start, end int) bool) {
		s := scanner{data: data}
		for ; s.pos < len(data); s.pos++ {
			if data[s.pos] != '"' {
				continue
			}
			start := s.pos
			if _, _, err := s.string(); err != nil || !yield(start, s.pos) {
				return
			}
			s.pos--
		}
	}
}
