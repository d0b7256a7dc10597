package main

import (
	"fmt"
	"os"
)

// processes are tools that misbehave as processes do.
func processes() []tool {
	return []tool{
		breaking("die", "Ends the program in the middle of a call, in the way that kind says.", func(c *call, h how) (string, error) {
			switch h.Kind {
			case "once": // unless it did so before
				f, err := os.OpenFile(h.At, os.O_CREATE|os.O_EXCL, 0o600)
				if err != nil {
					return text("alive again"), nil
				}
				_ = f.Close()
			case "half": // with half an answer
				c.out([]byte(`{"jsonrpc":"2.0","id":` + string(c.id) + `,"resu`))
			case "kill":
				if p, err := os.FindProcess(os.Getpid()); err == nil {
					_ = p.Kill()
				}
			case "close": // lives on, but says nothing more
				_ = os.Stdout.Close()
				<-c.ctx.Done()
			}
			fmt.Fprintln(os.Stderr, "fatal: out of luck")
			os.Exit(7)
			return "", errSilent
		}),
		breaking("fork", "Starts a process that holds the streams and ignores TERM; kind is on its command line.", func(_ *call, h how) (string, error) {
			pid, err := leave(h.Kind)
			if err != nil {
				return failure(err.Error()), nil
			}
			return text(fmt.Sprint(pid)), nil
		}),
		breaking("stderr", "Writes so many lines to standard error.", func(_ *call, h how) (string, error) {
			for i := range h.Count {
				fmt.Fprintf(os.Stderr, "%s %d\n", h.Kind, i)
			}
			return text("written"), nil
		}),
	}
}
