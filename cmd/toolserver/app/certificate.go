package app

import (
	"context"
	"crypto/tls"
	"os"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/toolserver/toolserver/osfile/filewatch"
)

const certificatePause = 2 * time.Second // between two looks at the files

// certificate is the one for HTTPS, as its files are now.
type certificate struct {
	app *App
	now atomic.Pointer[tls.Certificate]
}

// watch loads the certificate again whenever one of its files has changed, until ctx ends.
func (c *certificate) watch(ctx context.Context) {
	look := func() (seen [2]os.FileInfo) {
		pair := c.app.Config().Server.TLS
		seen[0], _ = os.Stat(pair.Cert)
		seen[1], _ = os.Stat(pair.Key)
		return seen
	}
	same := func(a, b [2]os.FileInfo) bool { return filewatch.Same(a[0], b[0]) && filewatch.Same(a[1], b[1]) }
	filewatch.Poll(ctx, certificatePause, look(), look, same, c.renew)
}

// renew loads the certificate again. One that cannot be used, perhaps because its key is
// yet to be written, changes nothing.
func (c *certificate) renew() {
	cert, err := c.app.Config().Certificate()
	if err != nil || cert == nil {
		c.app.journal.log.Warn("the certificate cannot be used as it is now; the old one stays in use", zap.Error(err))
		return
	}
	c.now.Store(cert)
	c.app.journal.log.Info("certificate loaded", zap.Time("expires", cert.Leaf.NotAfter))
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil },
	}
}
