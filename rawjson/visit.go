package rawjson

import "iter"

// A Value is a value at which [Read] has arrived. It can be read once, and only before
// the visit of it has returned; what is not read is stepped over.
type Value struct {
	s     *scanner
	start int
}

// Read calls visit for the one value that data consists of. Values that contain others
// can be visited in turn, so that nested ones are read in one pass.
func Read(data []byte, visit func(Value) error) error {
	s := scanner{data: data}
	return s.whole(func() error { return s.visit(visit) })
}

// visit steps over a value, as far as the visit of it has not.
func (s *scanner) visit(visit func(Value) error) error {
	v := Value{s, s.pos}
	if err := visit(v); err != nil || s.pos > v.start {
		return err
	}
	return s.skip()
}

// Kind returns the first byte of the value, or 0 if there is none.
func (v Value) Kind() byte {
	if v.start < len(v.s.data) {
		return v.s.data[v.start]
	}
	return 0
}

// Raw returns the bytes of the value, which point into the data. It can be called after
// the value was read, too.
func (v Value) Raw() ([]byte, error) {
	if v.s.pos == v.start {
		if err := v.s.skip(); err != nil {
			return nil, err
		}
	}
	return v.s.data[v.start:v.s.pos], nil
}

// String returns the string that the value is.
func (v Value) String() (string, error) {
	raw, escaped, err := v.s.string()
	return text(raw, escaped), err
}

// Object calls visit for each member of the object that the value is. The name points
// into the data, unless it is written with escapes. It stops at the first error, visit's
// included.
func (v Value) Object(visit func(name []byte, value Value) error) error {
	s := v.s
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
		return s.visit(func(value Value) error { return visit(name, value) })
	})
}

// Array calls visit for each element of the array that the value is, as [Value.Object]
// does for members.
func (v Value) Array(visit func(Value) error) error {
	if v.s.next() != '[' {
		return v.s.fail("an array")
	}
	return v.s.elements(']', func() error { return v.s.visit(visit) })
}

// Object calls visit for each member of the object in data, with the member's
// name and its value's bytes, as [Value.Object] does. Values are checked to be JSON
// before visit sees them.
func Object(data []byte, visit func(name, value []byte) error) error {
	return Read(data, func(v Value) error { return v.Object(Raw(visit)) })
}

// Raw returns a visit of members that passes the bytes of their values to visit.
func Raw(visit func(name, value []byte) error) func(name []byte, value Value) error {
	return func(name []byte, value Value) error {
		raw, err := value.Raw()
		if err != nil {
			return err
		}
		return visit(name, raw)
	}
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

// Array calls visit for each element of the array in data, as [Object] does for
// members.
func Array(data []byte, visit func(value []byte) error) error {
	return Read(data, func(v Value) error {
		return v.Array(func(v Value) error {
			raw, err := v.Raw()
			if err != nil {
				return err
			}
			return visit(raw)
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
