package runner

import "os"

// supervisedMethods are the ways of supervisors, the best first.
var supervisedMethods = [...]Method{MethodNamespace, MethodSubreaper}

func newSupervisedStarter(executable string, how Method, l *launcher) (starter, error) {
	p, err := newPool(executable, how, l)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Self returns the path of this program for [Options.Supervisor]. It stays right
// when the file is replaced or deleted while the program runs.
func Self() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}
