// A program that reads flags with the OpenFeature SDK and its OFREP provider: a question a line (openfeature.py).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/open-feature/go-sdk-contrib/providers/ofrep"
	"github.com/open-feature/go-sdk/openfeature"
)

type question struct {
	Flag    string
	Default any
	Context map[string]any
}

func main() {
	provider := ofrep.NewProvider(os.Getenv("HOST"), ofrep.WithBearerToken(os.Getenv("KEY")))
	must(openfeature.SetProviderAndWait(provider))
	client := openfeature.NewClient("fanion")
	questions := bufio.NewScanner(os.Stdin)
	for questions.Scan() {
		var asked question
		must(json.Unmarshal(questions.Bytes(), &asked))
		written, err := json.Marshal(answer(client, asked))
		must(err)
		fmt.Println(string(written))
	}
}

func answer(client *openfeature.Client, asked question) map[string]any {
	ctx, about := context.Background(), contextOf(asked.Context)
	if fallback, isText := asked.Default.(string); isText {
		details, _ := client.StringValueDetails(ctx, asked.Flag, fallback, about)
		return seen(details.Value, details.EvaluationDetails)
	}
	details, _ := client.BooleanValueDetails(ctx, asked.Flag, asked.Default.(bool), about)
	return seen(details.Value, details.EvaluationDetails)
}

func seen(value any, details openfeature.EvaluationDetails) map[string]any {
	found := map[string]any{
		"value": value, "variant": details.Variant, "reason": details.Reason, "metadata": details.FlagMetadata,
	}
	if details.ErrorCode != "" {
		found["error"] = details.ErrorCode
	}
	return found
}

func contextOf(attributes map[string]any) openfeature.EvaluationContext {
	key, isKnown := attributes["targetingKey"].(string)
	if !isKnown {
		return openfeature.NewTargetlessEvaluationContext(attributes)
	}
	delete(attributes, "targetingKey")
	return openfeature.NewEvaluationContext(key, attributes)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
