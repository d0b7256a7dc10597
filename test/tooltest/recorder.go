package tooltest

import (
	"fmt"
	"strings"
	"testing"
)

// Recorder is a test that only notes what is reported to it, to test checks with.
type Recorder struct {
	testing.TB
	reports []string
}

// Helper does nothing.
func (r *Recorder) Helper() {}

// Error notes a report.
func (r *Recorder) Error(args ...any) { r.reports = append(r.reports, fmt.Sprint(args...)) }

// Errorf notes a report.
func (r *Recorder) Errorf(format string, args ...any) { r.Error(fmt.Sprintf(format, args...)) }

// Wants checks that the only report is one with want, or that there is none if
// want is empty.
func (r *Recorder) Wants(t testing.TB, want string) {
	t.Helper()
	switch {
	case want == "" && len(r.reports) != 0:
		t.Errorf("reported %q; want nothing", r.reports)
	case want != "" && (len(r.reports) != 1 || !strings.Contains(r.reports[0], want)):
		t.Errorf("reported %q; want one with %q", r.reports, want)
	}
}
