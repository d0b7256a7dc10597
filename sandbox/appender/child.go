package appender

import "os"

// childName is argv[0] of a child; its one argument is the number of bytes.
const childName = "toolserver: append"

// IsChild says whether this process was started to append. Then main calls
// [RunChild] and nothing else.
func IsChild() bool { return len(os.Args) == 2 && os.Args[0] == childName }
