package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/toolserver/toolserver/cmd/toolserver/app"
	"github.com/toolserver/toolserver/domain"
	"github.com/toolserver/toolserver/upstream"
)

func upstreamLogs(g *globals) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "logs NAME", Args: takes(1, 1),
		ValidArgsFunction: g.completeServer,
		RunE: func(cmd *cobra.Command, names []string) error {
			ctx, stop := g.interruptible(cmd.Context())
			defer stop()
			shown := logLines{cmd.OutOrStdout(), names[0], g.json}
			log := zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{MessageKey: "msg"}), zapcore.Lock(zapcore.AddSync(shown)), zapcore.InfoLevel)
			return g.withLog(zap.New(log), func(a *app.App) error {
				g.sayUnused(a.Config())
				chosen, err := servers(a, names)
				if err != nil {
					return err
				}
				if file := a.Config().Logging.File; file != "" {
					return showLog(ctx, shown, file, follow)
				}
				return logsNow(ctx, cmd, a, chosen, follow)
			})
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the command is interrupted")
	return cmd
}

// logsNow connects to a server and shows what it writes meanwhile, or until ctx ends.
func logsNow(ctx context.Context, cmd *cobra.Command, a *app.App, chosen []*upstream.Server, follow bool) error {
	fmt.Fprintln(cmd.ErrOrStderr(), "logging.file is not configured, so nothing is kept; connecting now:")
	a.StartServers(ctx, chosen)
	if follow {
		<-ctx.Done()
	}
	r := chosen[0].Report()
	switch {
	case r.Status == upstream.StatusReady:
		fmt.Fprintf(cmd.ErrOrStderr(), "server %s is ready\n", r.Name)
	case ctx.Err() == nil:
		return errors.New("server " + r.Name + " is unavailable: " + domain.Visible(app.Why(&r, chosen[0].Timeout())))
	}
	return nil
}

// logLines shows lines about a server: as they are, or each as a JSON object.
type logLines struct {
	to     io.Writer
	server string
	json   bool
}

func (l logLines) print(line string) error {
	if l.json {
		return json.NewEncoder(l.to).Encode(map[string]string{"server": l.server, "line": line})
	}
	_, err := fmt.Fprintln(l.to, domain.Visible(line))
	return err
}

// Write shows what the program of a server wrote to standard error, of an entry of the log.
func (l logLines) Write(entry []byte) (int, error) {
	var fields map[string]any
	if err := json.Unmarshal(entry, &fields); err != nil {
		return 0, err
	}
	if line, ok := fields[upstream.StderrKey].(string); ok && fields["msg"] == upstream.StderrMessage {
		return len(entry), l.print(line)
	}
	return len(entry), nil
}

// Bounds of what is shown of a log.
const (
	maxLogLines = 1000    // the last ones
	maxLogLine  = 1 << 20 // bytes
	logPause    = 500 * time.Millisecond
)

// showLog shows the last entries of a log about a server, and if it follows, those to come
// until ctx ends.
func showLog(ctx context.Context, out logLines, file string, follow bool) error {
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("logging.file: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	var last []string
	rest := ""
	for shown := false; ; {
		line, err := in.ReadString('\n')
		rest = (rest + line)[:min(len(rest)+len(line), maxLogLine)]
		if err == nil {
			if about(rest, out.server) {
				if last = append(last, strings.TrimSuffix(rest, "\n")); len(last) > maxLogLines {
					last = slices.Delete(last, 0, len(last)-maxLogLines)
				}
			}
			rest = ""
			if !shown {
				continue
			}
		} else if !errors.Is(err, io.EOF) {
			return err
		}
		for _, line := range last {
			if err := out.print(strings.ReplaceAll(line, "\t", " ")); err != nil {
				return err
			}
		}
		last, shown = nil, true
		if !follow {
			return nil
		}
		if err != nil {
			select {
			case <-time.After(logPause):
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// about reports whether an entry of a log, in either format, is about a server.
func about(line, server string) bool {
	i := strings.IndexByte(line, '{')
	if i < 0 {
		return false
	}
	var fields struct{ Server string }
	return json.Unmarshal([]byte(line[i:]), &fields) == nil && fields.Server == server
}
