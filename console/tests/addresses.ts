import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError } from "@/lib/errors";
import { addressProblems, readAddresses, refusedAddress } from "@/settings/organization/addresses";

test("addresses are read from lines, lists and mails", () => {
  const text =
    'ann@x.example, "Bo, B." <bo@x.example>;\nCy <cy@x.example>\n\n di@x.example  ed@x.example,';

  assert.deepEqual(readAddresses(text), [
    "ann@x.example",
    '"Bo',
    "bo@x.example",
    "cy@x.example",
    "di@x.example",
    "ed@x.example",
  ]);
  assert.deepEqual(readAddresses(" ,\n"), []);
});

test("each address has its own problem", () => {
  const emails = ["ann@x.example", "bo", "ANN@x.example", "Cy@x.example"];

  assert.deepEqual(addressProblems(emails, ["cy@x.example"]), [
    { email: "bo", text: "Not an e-mail address." },
    { email: "ANN@x.example", text: "Entered twice." },
    { email: "Cy@x.example", text: "Already a member." },
  ]);
  assert.deepEqual(addressProblems(["ann@x.example"], []), []);
});

test("too many addresses are one problem, not one for each", () => {
  const emails = Array.from({ length: 21 }, (_, n) => `p${n}@x.example`);

  assert.deepEqual(addressProblems(emails, []), [
    { email: "", text: "21 addresses: invite at most 20 at once." },
  ]);
  assert.deepEqual(addressProblems(emails.slice(1), []), []);
});

test("a refusal by the server names one address", () => {
  const refusal = (attr: string | null) => new ApiError(400, "invalid_input", "No.", attr);
  const sent = ["ann@x.example", "bo@x.example"];

  assert.deepEqual(refusedAddress(refusal("1__target_email"), sent), {
    email: "bo@x.example",
    text: "No.",
  });
  assert.equal(refusedAddress(refusal("1__roles"), sent), undefined);
  assert.equal(refusedAddress(refusal(null), sent), undefined);
  assert.equal(refusedAddress(null, sent), undefined);
});
