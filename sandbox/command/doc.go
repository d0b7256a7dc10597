// Package command decides whether a shell command may run.
//
// A [Policy] is compiled once from lists of allowed and denied programs. Its [Policy.Decide] parses the
// text as bash does, walks everything in it that could start a program or touch a file, looks through
// the programs that start others (env, xargs, find -exec, sh -c and the like), and answers with a
// [Verdict] that names the rule and says what would be allowed.
//
// Nothing runs. Whatever cannot be decided by reading is refused. The file system is consulted only to tell
// what a name or a link stands for; what an allowed program does once it runs is not checked here.
//
// What the programs do with their arguments is data, not code: one line for a program in programs.txt.
package command
