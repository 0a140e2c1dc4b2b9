import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import com.google.gson.Gson;
import com.google.gson.annotations.SerializedName;
import dev.openfeature.contrib.providers.ofrep.OfrepProvider;
import dev.openfeature.contrib.providers.ofrep.OfrepProviderOptions;
import dev.openfeature.sdk.Client;
import dev.openfeature.sdk.EvaluationContext;
import dev.openfeature.sdk.FlagEvaluationDetails;
import dev.openfeature.sdk.ImmutableContext;
import dev.openfeature.sdk.OpenFeatureAPI;
import dev.openfeature.sdk.Structure;
import dev.openfeature.sdk.Value;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;

/** Reads flags with the OpenFeature SDK and its OFREP provider: a question a line (openfeature.py). */
public class OpenfeatureProgram {
  static class Question {
    String flag;
    @SerializedName("default")
    Object fallback;

    Map<String, Object> context;
  }

  public static void main(String[] arguments) throws Exception {
    OfrepProviderOptions options =
        OfrepProviderOptions.builder()
            .baseUrl(System.getenv("HOST"))
            .headers(ImmutableMap.of("Authorization", ImmutableList.of("Bearer " + System.getenv("KEY"))))
            .build();
    OpenFeatureAPI api = OpenFeatureAPI.getInstance();
    api.setProviderAndWait(OfrepProvider.constructProvider(options));
    Client client = api.getClient();
    BufferedReader questions = new BufferedReader(new InputStreamReader(System.in));
    for (String line = questions.readLine(); line != null; line = questions.readLine()) {
      System.out.println(new Gson().toJson(answer(client, new Gson().fromJson(line, Question.class))));
    }
    System.exit(0);
  }

  static Map<String, Object> answer(Client client, Question question) {
    EvaluationContext context = contextOf(question.context);
    FlagEvaluationDetails<?> details =
        question.fallback instanceof Boolean
            ? client.getBooleanDetails(question.flag, (Boolean) question.fallback, context)
            : client.getStringDetails(question.flag, (String) question.fallback, context);
    Map<String, Object> seen = new HashMap<>();
    seen.put("value", details.getValue());
    seen.put("variant", details.getVariant());
    seen.put("reason", details.getReason());
    seen.put("error", details.getErrorCode());
    seen.put("metadata", details.getFlagMetadata().asUnmodifiableMap());
    return seen;
  }

  static EvaluationContext contextOf(Map<String, Object> attributes) {
    Map<String, Value> values = Structure.mapToStructure(attributes).asMap();
    Object targetingKey = attributes.get("targetingKey");
    return targetingKey == null ? new ImmutableContext(values) : new ImmutableContext((String) targetingKey, values);
  }
}
