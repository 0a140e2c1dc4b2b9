// A program with PostHog's client for Go: it does the steps named by the variable TASK against the server named there, and
// prints what it saw as JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/posthog/posthog-go"
)

type task struct {
	Step, Host, ProjectKey, PersonalKey, Name string
	Events, RetryMs                           int
}

type outcomes struct {
	sync.Mutex
	Sent, Lost int
}

func (o *outcomes) Success(posthog.APIMessage) {
	o.Lock()
	defer o.Unlock()
	o.Sent++
}

func (o *outcomes) Failure(posthog.APIMessage, error) {
	o.Lock()
	defer o.Unlock()
	o.Lost++
}

func (o *outcomes) await(count int) {
	for give := time.Now().Add(2 * time.Minute); time.Now().Before(give); time.Sleep(20 * time.Millisecond) {
		o.Lock()
		done := o.Sent+o.Lost >= count
		o.Unlock()
		if done {
			return
		}
	}
}

func main() {
	var given task
	must(json.Unmarshal([]byte(os.Getenv("TASK")), &given))
	seen := map[string]any{}
	switch given.Step {
	case "capture":
		capture(given, seen)
	case "flags":
		flags(given, "", seen)
	case "local":
		flags(given, given.PersonalKey, seen)
	}
	written, err := json.Marshal(seen)
	must(err)
	fmt.Println(string(written))
}

func open(given task, personalKey string, counted *outcomes) posthog.Client {
	client, err := posthog.NewWithConfig(given.ProjectKey, posthog.Config{
		Endpoint:       given.Host,
		PersonalApiKey: personalKey,
		BatchSize:      1,
		Interval:       20 * time.Millisecond,
		Callback:       counted,
		RetryAfter:     func(int) time.Duration { return time.Duration(given.RetryMs) * time.Millisecond },
	})
	must(err)
	return client
}

func capture(given task, seen map[string]any) {
	counted := &outcomes{}
	client := open(given, "", counted)
	must(client.Enqueue(posthog.Identify{DistinctId: given.Name, Properties: posthog.NewProperties().Set("plan", "pro")}))
	must(client.Enqueue(posthog.GroupIdentify{
		DistinctId: given.Name, Type: "company", Key: "acme",
		Properties: posthog.NewProperties().Set("seats", 7),
	}))
	must(client.Enqueue(posthog.Alias{DistinctId: given.Name, Alias: given.Name + "-alias"}))
	for i := 0; i < given.Events; i++ {
		must(client.Enqueue(posthog.Capture{
			DistinctId: given.Name, Event: "captured",
			Properties: posthog.NewProperties().Set("number", i),
			Groups:     posthog.NewGroups().Set("company", "acme"),
		}))
	}
	counted.await(given.Events + 3)
	must(client.Close())
	seen["lost"] = counted.Lost
}

func flags(given task, personalKey string, seen map[string]any) {
	quiet := false
	client := open(given, personalKey, &outcomes{})
	defer client.Close()
	one := posthog.FeatureFlagPayload{
		Key: "color", DistinctId: given.Name, SendFeatureFlagEvents: &quiet,
		OnlyEvaluateLocally: personalKey != "",
		PersonProperties:    posthog.NewProperties().Set("plan", "pro"),
		Groups:              posthog.NewGroups().Set("company", "acme"),
		GroupProperties:     map[string]posthog.Properties{"company": posthog.NewProperties().Set("seats", 7)},
	}
	for _, key := range []string{"color", "everyone", "nobody", "large"} {
		one.Key = key
		value, err := client.GetFeatureFlag(one)
		must(err)
		seen[key] = value
	}
	one.Key = "color"
	payload, err := client.GetFeatureFlagPayload(one)
	must(err)
	seen["payload"] = payload
	all, err := client.GetAllFlags(posthog.FeatureFlagPayloadNoKey{
		DistinctId: given.Name, OnlyEvaluateLocally: one.OnlyEvaluateLocally,
		PersonProperties: one.PersonProperties, Groups: one.Groups, GroupProperties: one.GroupProperties,
	})
	must(err)
	seen["all"] = all
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
