package confine

import "testing"

func TestProfile(t *testing.T) {
	for _, test := range []struct {
		name, want string
		spec       Spec
	}{
		{"default", `(version 1)
(allow default)
(deny file-write*)
(allow file-write* (subpath "/w") (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/stdout") (literal "/dev/stderr") (literal "/dev/dtracehelper"))
(deny file-write* (subpath "/w/.git/hooks"))
(deny file-read* file-write* (subpath "/w/.env") (subpath "/a \"b\" \\c"))
(deny network*)
`, Spec{Read: []string{"/"}, Write: []string{"/w"}, ReadOnly: []string{"/w/.git/hooks"}, Deny: []string{"/w/.env", `/a "b" \c`}}},
		{"lists", `(version 1)
(allow default)
(deny file-write*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/stdout") (literal "/dev/stderr") (literal "/dev/dtracehelper"))
(deny file-read-data)
(allow file-read-data (subpath "/bin") (subpath "/sbin") (subpath "/usr") (subpath "/System") (subpath "/Library") (subpath "/opt/homebrew") (subpath "/opt/local") (subpath "/dev") (subpath "/private/etc") (subpath "/private/var/db") (subpath "/private/var/select") (subpath "/Applications/Xcode.app") (literal "/"))
(deny file-read-data (subpath "/private/etc/master.passwd") (subpath "/private/etc/sudoers") (subpath "/private/etc/sudoers.d") (subpath "/private/etc/krb5.keytab") (subpath "/private/var/db/dslocal"))
(allow file-read-data (subpath "/r"))
(deny process-exec*)
(allow process-exec* (literal "/bin/ls") (subpath "/t"))
(deny network*)
(allow network* (local ip "localhost:*") (remote ip "localhost:*"))
(deny network-outbound (remote unix-socket))
`, Spec{Read: []string{"/r"}, Exec: []string{"/bin/ls"}, ExecDirs: []string{"/t"}, Network: Loopback}},
		{"without a list for reading", `(version 1)
(allow default)
(deny file-write*)
(allow file-write* (subpath "/w") (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/stdout") (literal "/dev/stderr") (literal "/dev/dtracehelper"))
(deny file-read-data)
(allow file-read-data (subpath "/bin") (subpath "/sbin") (subpath "/usr") (subpath "/System") (subpath "/Library") (subpath "/opt/homebrew") (subpath "/opt/local") (subpath "/dev") (subpath "/private/etc") (subpath "/private/var/db") (subpath "/private/var/select") (subpath "/Applications/Xcode.app") (literal "/"))
(deny file-read-data (subpath "/private/etc/master.passwd") (subpath "/private/etc/sudoers") (subpath "/private/etc/sudoers.d") (subpath "/private/etc/krb5.keytab") (subpath "/private/var/db/dslocal"))
(allow file-read-data (vnode-type DIRECTORY))
(allow file-read-data (subpath "/w") (subpath "/opt") (subpath "/w"))
(deny network*)
`, Spec{Read: []string{"/w", "/opt"}, Write: []string{"/w"}, List: true}},
	} {
		if got := test.spec.profile(); got != test.want {
			t.Errorf("%s:\n%s", test.name, got)
		}
	}
}
