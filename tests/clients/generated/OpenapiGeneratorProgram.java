// Program of the client that openapi-generator generates for Java.

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import java.io.File;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.CaptureApi;
import org.openapitools.client.api.CohortsApi;
import org.openapitools.client.api.EvaluationApi;
import org.openapitools.client.api.FeatureFlagsApi;
import org.openapitools.client.api.InsightsApi;
import org.openapitools.client.model.*;

public class OpenapiGeneratorProgram {
  private static final JsonObject TASK =
      new Gson().fromJson(System.getenv("TASK"), JsonObject.class);
  private static final String NAME = text("name");
  private static final String PROJECT = text("project_id");

  private final Map<String, Object> seen = new LinkedHashMap<>();
  private final ApiClient client = new ApiClient();
  private final FeatureFlagsApi flagsApi = new FeatureFlagsApi(client);
  private final CohortsApi cohortsApi = new CohortsApi(client);

  public static void main(String[] arguments) throws Exception {
    OpenapiGeneratorProgram program = new OpenapiGeneratorProgram();
    program.client.setBasePath(text("host"));
    program.client.setBearerToken(text("personal_key"));
    program.flags();
    program.cohorts();
    program.persons();
    program.pages();
    program.batch();
    program.decided();
    program.insights();
    program.grant();
    System.out.println(program.client.getJSON().getGson().toJson(program.seen));
  }

  private static String text(String name) {
    return TASK.get(name).getAsString();
  }

  private FlagFilters filters(int rollout) {
    PersonConditionAnyOf condition =
        new PersonConditionAnyOf()
            .type(PersonConditionAnyOf.TypeEnum.PERSON)
            .key("plan")
            .operator(PersonConditionAnyOf.OperatorEnum.EXACT)
            .value(new PersonConditionAnyOfValue("pro"));
    PersonConditionSet set =
        new PersonConditionSet()
            .addPropertiesItem(new PersonCondition(condition))
            .rolloutPercentage(BigDecimal.valueOf(rollout));
    FlagVariant blue = new FlagVariant().key("blue").rolloutPercentage(BigDecimal.valueOf(100));
    return new FlagFilters(
        new PersonFlagFilters()
            .addGroupsItem(set)
            .multivariate(new PersonFlagFiltersMultivariate().addVariantsItem(blue))
            .putPayloadsItem("blue", Map.of("hex", "#00f")));
  }

  private FlagBody createFlag(String key) throws ApiException {
    NewFlag flag = new NewFlag().key(NAME + "-" + key).filters(filters(50));
    return flagsApi.createFeatureFlag(PROJECT, flag);
  }

  private void flags() throws ApiException {
    FlagBody kept = createFlag("kept");
    FlagBody deleted = createFlag("deleted");
    FlagChanges changes = new FlagChanges().filters(filters(100)).active(false);
    seen.put("active", flagsApi.updateFeatureFlag(kept.getId(), PROJECT, changes).getActive());
    flagsApi.updateFeatureFlag(deleted.getId(), PROJECT, new FlagChanges().deleted(true));
    seen.put("created", kept.getFilters());
    seen.put("kept", kept.getId());
    seen.put("deleted", deleted.getId());
  }

  private void cohorts() throws Exception {
    CohortConditionAnyOf condition =
        new CohortConditionAnyOf()
            .type(CohortConditionAnyOf.TypeEnum.PERSON)
            .key("plan")
            .operator(CohortConditionAnyOf.OperatorEnum.EXACT)
            .value(new PersonConditionAnyOfValue("pro"));
    CohortGroupOfConditions group =
        new CohortGroupOfConditions()
            .type(CohortGroupOfConditions.TypeEnum.AND)
            .addValuesItem(new CohortCondition(condition));
    CohortFilters filters =
        new CohortFilters().properties(new CohortFiltersProperties(group));
    NewCohort cohort = new NewCohort().name(NAME + " payers").filters(filters);
    seen.put("criteria_cohort", createCohort(cohort).getId());
    seen.put("file_cohort", upload());
  }

  private CohortBody createCohort(NewCohort cohort) throws ApiException {
    return cohortsApi.createCohort(PROJECT, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, cohort);
  }

  // The generated method takes only the first media type of a body, which is JSON.
  private Long upload() throws Exception {
    File file = File.createTempFile("readers", ".csv");
    Files.writeString(file.toPath(), "reader-1\nreader-2\nreader-3\n");
    Map<String, Object> form = new HashMap<>();
    form.put("name", NAME + " readers");
    form.put("is_static", "true");
    form.put("csv", file);
    Map<String, String> headers = new HashMap<>();
    headers.put("Content-Type", "multipart/form-data");
    String path = "/api/projects/" + PROJECT + "/cohorts/";
    okhttp3.Call call =
        client.buildCall(
            client.getBasePath(),
            path,
            "POST",
            new ArrayList<>(),
            new ArrayList<>(),
            null,
            headers,
            new HashMap<>(),
            form,
            new String[] {"bearer"},
            null);
    return client.<CohortBody>execute(call, CohortBody.class).getData().getId();
  }

  private void persons() throws Exception {
    long cohort = TASK.get("cohort_id").getAsLong();
    List<List<String>> ids = new ArrayList<>();
    for (PersonBody person :
        cohortsApi
            .listCohortPersons(cohort, PROJECT, null, null, null, null, null, null, null, null)
            .getResults()) {
      ids.add(person.getDistinctIds());
    }
    seen.put("persons", ids);
    okhttp3.Call call =
        cohortsApi.listCohortPersonsCall(
            cohort, PROJECT, "csv", null, null, null, null, null, null, null, null);
    seen.put("csv", call.execute().body().string());
  }

  private void pages() throws ApiException {
    List<Object> pages = new ArrayList<>();
    for (long offset : new long[] {0, 2}) {
      PagedFlagBody page = flagsApi.listFeatureFlags(PROJECT, "paged-", null, null, null, null, null, null, "key", null, null, null, 2L, offset);
      List<String> keys = page.getResults().stream().map(FlagBody::getKey).toList();
      boolean hasNext = page.getNext() != null;
      pages.add(Map.of("count", page.getCount(), "keys", keys, "has_next", hasNext));
    }
    seen.put("pages", pages);
  }

  private void batch() throws ApiException {
    CaptureBatchRequest body = new CaptureBatchRequest().apiKey(text("project_key"));
    for (int number = 1; number <= 2; number++) {
      body.addBatchItem(
          new CaptureBatchRequestBatchInner()
              .event("sent")
              .putPropertiesItem("distinct_id", NAME + "-user")
              .putPropertiesItem("number", number)
              .timestamp(number == 1 ? "2026-01-15T09:00:00Z" : null));
    }
    seen.put("batch", new CaptureApi(client).captureBatch(body).getStatus());
  }

  private void decided() throws ApiException {
    DecideRequest body =
        new DecideRequest()
            .apiKey(text("project_key"))
            .distinctId(NAME + "-user")
            .putPersonPropertiesItem("plan", "pro");
    Decide200Response answer = new EvaluationApi(client).decide(3L, body);
    Boolean everything = answer.getConfig().getEnableCollectEverything();
    Map<String, Object> fields = new HashMap<>();
    fields.put("config", Map.of("enable_collect_everything", everything));
    fields.put("editorParams", answer.getEditorParams());
    fields.put("errorComputingFlags", answer.getErrorComputingFlags());
    fields.put("isAuthenticated", answer.getIsAuthenticated());
    fields.put("supportedCompression", answer.getSupportedCompression());
    fields.put("featureFlags", answer.getFeatureFlags());
    fields.put("featureFlagPayloads", answer.getFeatureFlagPayloads());
    seen.put("decided", fields);
  }

  private void insights() throws ApiException {
    InsightsApi api = new InsightsApi(client);
    EventSeries viewed = new EventSeries().id("viewed");
    EventSeries paid = new EventSeries().id("paid");
    TrendsFilters trends = new TrendsFilters().addEventsItem(viewed).dateFrom("-7d");
    FunnelsFilters funnel =
        new FunnelsFilters()
            .insight(FunnelsFilters.InsightEnum.FUNNELS)
            .addEventsItem(viewed)
            .addEventsItem(paid)
            .dateFrom("-7d");
    seen.put("trend", counts(api.calculateTrend(PROJECT, trends)));
    seen.put("funnel", counts(api.calculateFunnel(PROJECT, new InsightFilters(funnel))));
  }

  private static List<Object> counts(ResultBody body) {
    List<Object> counts = new ArrayList<>();
    for (Object item : (List<?>) body.getResult()) {
      counts.add(((Map<?, ?>) item).get("count"));
    }
    return counts;
  }

  private void grant() throws ApiException {
    NewRoleAccess body = new NewRoleAccess().roleId(UUID.fromString(text("role_id")));
    RoleAccessBody access =
        flagsApi.createFeatureFlagRoleAccess((Long) seen.get("kept"), PROJECT, body);
    String flag = access.getFeatureFlag().getKey();
    seen.put("access", Map.of("role", access.getRole().getName(), "flag", flag));
  }
}
