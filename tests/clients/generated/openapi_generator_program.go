// Program of the client that openapi-generator generates for Go.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"

	client "github.com/GIT_USER_ID/GIT_REPO_ID"
)

type object = map[string]any

var task struct {
	Name        string `json:"name"`
	Host        string `json:"host"`
	ProjectKey  string `json:"project_key"`
	PersonalKey string `json:"personal_key"`
	ProjectId   string `json:"project_id"`
	CohortId    int64  `json:"cohort_id"`
	RoleId      string `json:"role_id"`
}

var (
	ctx context.Context
	api *client.APIClient
)

func must[T any](value T, response *http.Response, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func of(fields object) map[string]*any {
	pointers := map[string]*any{}
	for name, value := range fields {
		value := value
		pointers[name] = &value
	}
	return pointers
}

func pro() client.PersonConditionAnyOfValue {
	return client.PersonConditionAnyOfValue{String: client.PtrString("pro")}
}

func filters(rollout float32) client.FlagFilters {
	condition := client.NewPersonConditionAnyOf("person", "plan", pro())
	condition.SetOperator("exact")
	set := client.NewPersonConditionSet()
	set.SetProperties([]client.PersonCondition{{PersonConditionAnyOf: condition}})
	set.SetRolloutPercentage(rollout)
	own := client.NewPersonFlagFilters([]client.PersonConditionSet{*set})
	multivariate := client.NewPersonFlagFiltersMultivariate()
	multivariate.SetVariants([]client.FlagVariant{*client.NewFlagVariant("blue", 100)})
	own.SetMultivariate(*multivariate)
	own.SetPayloads(of(object{"blue": object{"hex": "#00f"}}))
	return client.FlagFilters{PersonFlagFilters: own}
}

func createFlag(key string) *client.FlagBody {
	flag := client.NewNewFlag(task.Name + "-" + key)
	flag.SetFilters(filters(50))
	return must(api.FeatureFlagsAPI.CreateFeatureFlag(ctx, task.ProjectId).NewFlag(*flag).Execute())
}

func updateFlag(id int64, changes *client.FlagChanges) *client.FlagBody {
	request := api.FeatureFlagsAPI.UpdateFeatureFlag(ctx, id, task.ProjectId)
	return must(request.FlagChanges(*changes).Execute())
}

func flags(seen object) int64 {
	kept, deleted := createFlag("kept"), createFlag("deleted")
	changes, deletion := client.NewFlagChanges(), client.NewFlagChanges()
	changes.SetFilters(filters(100))
	changes.SetActive(false)
	deletion.SetDeleted(true)
	seen["active"] = updateFlag(kept.Id, changes).Active
	updateFlag(deleted.Id, deletion)
	seen["created"], seen["kept"], seen["deleted"] = kept.Filters, kept.Id, deleted.Id
	return kept.Id
}

func cohorts(seen object) {
	condition := client.NewCohortConditionAnyOf("person", "plan", pro())
	condition.SetOperator("exact")
	conditions := []client.CohortCondition{{CohortConditionAnyOf: condition}}
	group := client.NewCohortGroupOfConditions("AND", conditions)
	cohort := client.NewNewCohort()
	cohort.SetName(task.Name + " payers")
	cohort.SetFilters(
		*client.NewCohortFilters(client.CohortFiltersProperties{CohortGroupOfConditions: group}),
	)
	request := api.CohortsAPI.CreateCohort(ctx, task.ProjectId)
	seen["criteria_cohort"] = must(request.NewCohort(*cohort).Execute()).Id
	seen["file_cohort"] = upload()
}

// upload makes a cohort of a file. The generated method takes only the first media type of a body,
// which is JSON, so a transport puts the form in its place.
func upload() int64 {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	form.WriteField("name", task.Name+" readers")
	form.WriteField("is_static", "true")
	file, _ := form.CreateFormFile("csv", "readers.csv")
	io.WriteString(file, "reader-1\nreader-2\nreader-3\n")
	form.Close()
	configuration := configured()
	configuration.HTTPClient = &http.Client{Transport: sender{&body, form.FormDataContentType()}}
	request := client.NewAPIClient(configuration).CohortsAPI.CreateCohort(ctx, task.ProjectId)
	return must(request.Execute()).Id
}

type sender struct {
	body        *bytes.Buffer
	contentType string
}

func (form sender) RoundTrip(request *http.Request) (*http.Response, error) {
	request.Header.Set("Content-Type", form.contentType)
	request.Body = io.NopCloser(form.body)
	request.ContentLength = int64(form.body.Len())
	return http.DefaultTransport.RoundTrip(request)
}

func persons(seen object) {
	page := must(api.CohortsAPI.ListCohortPersons(ctx, task.CohortId, task.ProjectId).Execute())
	ids := [][]string{}
	for _, person := range page.Results {
		ids = append(ids, person.DistinctIds)
	}
	// The method cannot decode CSV; it returns the response all the same.
	request := api.CohortsAPI.ListCohortPersons(ctx, task.CohortId, task.ProjectId).Format("csv")
	_, response, _ := request.Execute()
	csv, _ := io.ReadAll(response.Body)
	seen["persons"], seen["csv"] = ids, string(csv)
}

func pages(seen object) {
	all := []object{}
	for _, offset := range []int64{0, 2} {
		request := api.FeatureFlagsAPI.ListFeatureFlags(ctx, task.ProjectId).Search("paged-")
		page := must(request.Order("key").Limit(2).Offset(offset).Execute())
		keys := []string{}
		for _, flag := range page.Results {
			keys = append(keys, flag.Key)
		}
		hasNext := page.Next.Get() != nil
		all = append(all, object{"count": page.Count, "keys": keys, "has_next": hasNext})
	}
	seen["pages"] = all
}

func batch(seen object) {
	items := []client.CaptureBatchRequestBatchInner{}
	for number := 1; number <= 2; number++ {
		item := client.NewCaptureBatchRequestBatchInner("sent")
		item.SetProperties(of(object{"distinct_id": task.Name + "-user", "number": number}))
		if number == 1 {
			item.SetTimestamp("2026-01-15T09:00:00Z")
		}
		items = append(items, *item)
	}
	body := client.NewCaptureBatchRequest(task.ProjectKey, items)
	seen["batch"] = must(api.CaptureAPI.CaptureBatch(ctx).CaptureBatchRequest(*body).Execute()).Status
}

func decided(seen object) {
	body := client.NewDecideRequest(task.ProjectKey, task.Name+"-user")
	body.SetPersonProperties(of(object{"plan": "pro"}))
	answer := must(api.EvaluationAPI.Decide(ctx).V(3).DecideRequest(*body).Execute())
	seen["decided"] = object{
		"config":               object{"enable_collect_everything": answer.Config.EnableCollectEverything},
		"editorParams":         answer.EditorParams,
		"errorComputingFlags":  answer.ErrorComputingFlags,
		"isAuthenticated":      answer.IsAuthenticated,
		"supportedCompression": answer.SupportedCompression,
		"featureFlags":         answer.FeatureFlags,
		"featureFlagPayloads":  answer.FeatureFlagPayloads,
	}
}

func counts(result any) []any {
	all := []any{}
	for _, item := range result.([]any) {
		all = append(all, item.(object)["count"])
	}
	return all
}

func insights(seen object) {
	viewed, paid := client.NewEventSeries(), client.NewEventSeries()
	viewed.SetId("viewed")
	paid.SetId("paid")
	trends := client.NewTrendsFilters()
	trends.SetEvents([]client.EventSeries{*viewed})
	trends.SetDateFrom("-7d")
	trend := api.InsightsAPI.CalculateTrend(ctx, task.ProjectId).TrendsFilters(*trends)
	seen["trend"] = counts(must(trend.Execute()).Result)
	steps := client.NewFunnelsFilters("FUNNELS")
	steps.SetEvents([]client.EventSeries{*viewed, *paid})
	steps.SetDateFrom("-7d")
	question := client.InsightFilters{FunnelsFilters: steps}
	funnel := api.InsightsAPI.CalculateFunnel(ctx, task.ProjectId).InsightFilters(question)
	seen["funnel"] = counts(must(funnel.Execute()).Result)
}

func grant(seen object, flag int64) {
	body := client.NewNewRoleAccess(task.RoleId)
	request := api.FeatureFlagsAPI.CreateFeatureFlagRoleAccess(ctx, flag, task.ProjectId)
	access := must(request.NewRoleAccess(*body).Execute())
	seen["access"] = object{"role": access.Role.Name, "flag": access.FeatureFlag.Key}
}

func configured() *client.Configuration {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: task.Host}}
	return configuration
}

func main() {
	if err := json.Unmarshal([]byte(os.Getenv("TASK")), &task); err != nil {
		panic(err)
	}
	ctx = context.WithValue(context.Background(), client.ContextAccessToken, task.PersonalKey)
	api = client.NewAPIClient(configured())
	seen := object{}
	kept := flags(seen)
	cohorts(seen)
	persons(seen)
	pages(seen)
	batch(seen)
	decided(seen)
	insights(seen)
	grant(seen, kept)
	text, _ := json.Marshal(seen)
	fmt.Println(string(text))
}
