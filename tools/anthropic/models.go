package anthropic

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"toolserver/domain/nearest"
)

// Bounds of the list of models.
const (
	modelsTimeout = 10 * time.Second
	maxModelsBody = 1 << 20
	maxModels     = 50 // of a message
)

// models returns the names of the models there are, newest first as the API has
// them.
func (m *Messages) models(ctx context.Context) ([]string, error) {
	res, err := m.caller(modelsTimeout, maxModelsBody).Do(ctx, m.get("/v1/models", url.Values{"limit": {"1000"}}))
	if err != nil {
		return nil, m.apiError(ctx, err)
	}
	var body struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(res.Body, &body); err != nil {
		return nil, &BadAnswerError{"the list of models cannot be read"}
	}
	var names []string
	for _, model := range body.Data {
		if len(names) < maxModels {
			names = append(names, m.plain(model.ID, maxWord))
		}
	}
	return names, nil
}

// withModels adds the models there are to an error that says that there is not
// the one that was asked for. The error stays as it is if they cannot be had.
func (m *Messages) withModels(ctx context.Context, unknown *APIError, model string) {
	names, err := m.models(ctx)
	if err != nil || len(names) == 0 {
		return
	}
	if near, ok := nearest.Word(model, names); ok {
		unknown.Message += "; did you mean " + near + "?"
	}
	unknown.Message += "; models there are: " + strings.Join(names, ", ")
}
