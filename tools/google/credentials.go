package google

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
)

// maxCredentials bounds a file of credentials, in bytes.
const maxCredentials = 64 << 10

// ReadCredentials takes client ID and secret from the file of an OAuth client. Public says that browsers reach the server, which a
// Web application requires.
func (o *Options) ReadCredentials(public bool) error {
	f, err := os.Open(o.Credentials)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxCredentials))
	if err != nil {
		return err
	}
	type client struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	var file struct {
		Type           string
		Installed, Web *client
	}
	const desktop = "download the JSON of an OAuth client of type Desktop app"
	err = json.Unmarshal(text, &file)
	found := cmp.Or(file.Installed, file.Web)
	switch {
	case file.Type == "service_account":
		return errors.New("is the key of a service account, for which nobody can sign in: " + desktop)
	case err != nil || found == nil || found.ID == "" || found.Secret == "":
		return errors.New("has no client of the Google Cloud console: " + desktop)
	case file.Installed == nil && !public:
		return errors.New("is of a Web application, which requires server.public_url: " + desktop)
	}
	o.ClientID, o.ClientSecret = found.ID, found.Secret
	return nil
}
