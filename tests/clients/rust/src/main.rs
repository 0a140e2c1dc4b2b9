//! A program with PostHog's client for Rust: it does the step named by the variable TASK against the server named there,
//! and prints what it saw as JSON.

use posthog_rs::{
    Client, ClientOptionsBuilder, EvaluateFlagsOptions, Event, FlagValue, PostHogError,
};
use serde_json::{json, Map, Value};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

struct Task(Value);

impl Task {
    fn text(&self, name: &str) -> String {
        self.0[name].as_str().expect(name).to_string()
    }

    fn number(&self, name: &str) -> u64 {
        self.0[name].as_u64().expect(name)
    }
}

fn main() {
    let task = Task(serde_json::from_str(&std::env::var("TASK").unwrap()).unwrap());
    let seen = match task.text("Step").as_str() {
        "capture" => capture(&task),
        "local" => flags(&task, true),
        _ => flags(&task, false),
    };
    println!("{seen}");
}

fn open(task: &Task, local: bool, lost: &Arc<AtomicUsize>) -> Client {
    let lost = lost.clone();
    let mut options = ClientOptionsBuilder::default();
    options
        .api_key(task.text("ProjectKey"))
        .host(task.text("Host"))
        .flush_at(1usize)
        .max_batch_size(1usize)
        .max_capture_attempts(10u32)
        .retry_initial_backoff_ms(task.number("RetryMs"))
        .retry_max_backoff_ms(task.number("RetryMs"))
        .shutdown_timeout_ms(60_000u64)
        .on_error(move |error: &PostHogError| {
            if let PostHogError::Capture(failure) = error {
                lost.fetch_add(failure.event_count(), Ordering::SeqCst);
            }
        });
    if local {
        options
            .secret_key(task.text("PersonalKey"))
            .enable_local_evaluation(true);
    }
    posthog_rs::client(options.build().unwrap())
}

fn capture(task: &Task) -> Value {
    let lost = Arc::new(AtomicUsize::new(0));
    let client = open(task, false, &lost);
    let name = task.text("Name");
    let mut identify = Event::new("$identify".to_string(), name.clone());
    identify
        .insert_prop("$set", json!({"plan": "pro"}))
        .unwrap();
    client.capture(identify);
    client
        .group_identify("company", "acme", json!({"seats": 7}))
        .unwrap();
    client.alias(name.clone(), format!("{name}-alias"));
    for number in 0..task.number("Events") {
        let mut event = Event::new("captured".to_string(), name.clone());
        event.insert_prop("number", number).unwrap();
        event.add_group("company", "acme");
        client.capture(event);
    }
    // Closing the client would try each refused event only once more, so that waits until the
    // standard input ends: the client does not report what is still to be sent.
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    client.shutdown();
    json!({"lost": lost.load(Ordering::SeqCst)})
}

fn flags(task: &Task, local: bool) -> Value {
    let client = open(task, local, &Arc::default());
    let options = || EvaluateFlagsOptions {
        groups: Some(HashMap::from([("company".into(), "acme".into())])),
        person_properties: Some(HashMap::from([("plan".into(), json!("pro"))])),
        group_properties: Some(HashMap::from([(
            "company".into(),
            HashMap::from([("seats".into(), json!(7))]),
        )])),
        only_evaluate_locally: local,
        ..EvaluateFlagsOptions::default()
    };
    let evaluate = || client.evaluate_flags(task.text("Name"), options()).unwrap();
    // Definitions are loaded by a thread of the client's own.
    await_until(|| !evaluate().keys().is_empty());
    let evaluated = evaluate();
    let value = |key: &str| match evaluated.get_flag(key) {
        Some(FlagValue::Boolean(on)) => json!(on),
        Some(FlagValue::String(variant)) => json!(variant),
        None => Value::Null,
    };
    let mut seen: Map<String, Value> = evaluated
        .keys()
        .into_iter()
        .map(|key| (key.clone(), value(&key)))
        .collect();
    let payload = evaluated.get_flag_payload("color").expect("a payload");
    seen.insert("payload".into(), json!(payload.to_string())); // the client has parsed the text
    Value::Object(seen)
}

fn await_until(holds: impl Fn() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !holds() && Instant::now() < give_up {
        sleep(Duration::from_millis(20));
    }
}
