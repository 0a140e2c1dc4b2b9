// What clients in Go that openapi-generator generates depend on.
module fanion/generated

go 1.18

require gopkg.in/validator.v2 v2.0.1
