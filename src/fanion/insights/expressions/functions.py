"""The functions that SQL of users may call, by the names by which the event store knows them.

None reads a file, a host, a setting, a dictionary, another table or another query, and none waits.
A name that is not here is refused.

Source: insights.md, section 10b.
"""

from collections.abc import Mapping
from typing import Final

_AGGREGATES: Final = (
    *("count", "sum", "min", "max", "avg", "any", "anyLast", "argMin", "argMax", "median"),
    *("quantile", "quantiles", "quantileExact", "quantilesExact", "quantileTDigest"),
    *("quantileExactInclusive", "windowFunnel"),
    *("uniq", "uniqExact", "uniqHLL12", "uniqCombined", "groupArray", "groupUniqArray"),
    *("topK", "stddevPop", "stddevSamp", "varPop", "varSamp", "covarPop", "covarSamp", "corr"),
    *("skewPop", "skewSamp", "kurtPop", "kurtSamp", "avgWeighted", "sumKahan", "first_value"),
    *("last_value", "groupBitAnd", "groupBitOr", "groupBitXor", "entropy", "deltaSum"),
)
# What may follow the name of an aggregate.
_ENDINGS: Final = (
    *("If", "Array", "Distinct", "OrNull", "OrDefault", "ArrayIf", "DistinctIf", "OrNullIf"),
    *("OrDefaultIf", "ArrayDistinct"),
)
_OF_WINDOWS: Final = (
    *("row_number", "rank", "dense_rank", "lag", "lead", "lagInFrame", "leadInFrame", "nth_value"),
)

_OF_ROWS: Final = (
    # Arithmetic.
    *("plus", "minus", "multiply", "divide", "intDiv", "intDivOrZero", "modulo", "negate", "abs"),
    *("gcd", "lcm", "greatest", "least", "round", "floor", "ceil", "ceiling"),
    *("trunc", "truncate", "roundBankers", "roundDown", "roundAge", "roundDuration", "exp", "log"),
    *("ln", "log2", "log10", "log1p", "exp2", "exp10", "sqrt", "cbrt", "pow", "power", "sin"),
    *("cos", "tan", "asin", "acos", "atan", "atan2", "hypot", "sign", "pi", "degrees"),
    *("radians", "factorial", "width_bucket", "bitAnd", "bitOr", "bitXor", "bitNot"),
    *("bitShiftLeft", "bitShiftRight", "bitTest", "isFinite", "isInfinite", "isNaN", "ifNotFinite"),
    # Conditions.
    *("if", "multiIf", "coalesce", "ifNull", "nullIf", "isNull", "isNotNull", "assumeNotNull"),
    *("toNullable", "isZeroOrNull", "and", "or", "xor", "not", "equals", "notEquals", "less"),
    *("greater", "lessOrEquals", "greaterOrEquals", "in", "notIn", "transform"),
    # Types.
    *("toString", "toBool", "toInt8", "toInt16", "toInt32", "toInt64", "toUInt8", "toUInt16"),
    *("toUInt32", "toUInt64", "toFloat32", "toFloat64", "toInt64OrNull", "toInt64OrZero"),
    *("toInt32OrNull", "toInt32OrZero", "toUInt64OrNull", "toUInt64OrZero", "toFloat64OrNull"),
    *("toFloat64OrZero", "toUUIDOrNull", "toUUIDOrZero", "toTypeName", "reinterpretAsUInt64"),
    # Dates and times.
    *("now", "now64", "today", "yesterday", "toDate", "toDateTime", "toDateTime64", "toTimeZone"),
    *("toDateOrNull", "toDateTimeOrNull", "toUnixTimestamp", "toUnixTimestamp64Milli"),
    *("toUnixTimestamp64Micro", "fromUnixTimestamp", "fromUnixTimestamp64Milli"),
    *("parseDateTimeBestEffort", "parseDateTimeBestEffortOrNull", "parseDateTime64BestEffort"),
    *("parseDateTime64BestEffortOrNull", "toYear", "toQuarter", "toMonth", "toDayOfYear"),
    *("toDayOfMonth", "toDayOfWeek", "toHour", "toMinute", "toSecond", "toMillisecond"),
    *("toStartOfYear", "toStartOfISOYear", "toStartOfQuarter", "toStartOfMonth", "toStartOfWeek"),
    *("toStartOfDay", "toStartOfHour", "toStartOfMinute", "toStartOfSecond"),
    *("toStartOfFiveMinutes", "toStartOfTenMinutes", "toStartOfFifteenMinutes", "toMonday"),
    *("toStartOfInterval", "toLastDayOfMonth", "toLastDayOfWeek", "toTime", "toISOYear"),
    *("toISOWeek", "toWeek", "toYearWeek", "toYYYYMM", "toYYYYMMDD", "toYYYYMMDDhhmmss", "age"),
    *("dateDiff", "dateTrunc", "dateAdd", "dateSub", "timeStampAdd", "timeStampSub"),
    *("addSeconds", "addMinutes", "addHours", "addDays", "addWeeks", "addMonths", "addQuarters"),
    *("addYears", "subtractSeconds", "subtractMinutes", "subtractHours", "subtractDays"),
    *("subtractWeeks", "subtractMonths", "subtractQuarters", "subtractYears", "monthName"),
    *("dateName", "formatDateTime", "timeSlot", "makeDate", "makeDateTime", "toIntervalSecond"),
    *("toIntervalMinute", "toIntervalHour", "toIntervalDay", "toIntervalWeek"),
    *("toIntervalMonth", "toIntervalQuarter", "toIntervalYear"),
    # Texts.
    *("length", "lengthUTF8", "empty", "notEmpty", "lower", "upper", "lowerUTF8", "upperUTF8"),
    *("reverse", "reverseUTF8", "concat", "concatWithSeparator", "substring", "substringUTF8"),
    *("left", "right", "leftUTF8", "rightUTF8", "leftPad", "rightPad", "trim", "trimLeft"),
    *("trimRight", "trimBoth", "startsWith", "endsWith", "position", "positionCaseInsensitive"),
    *("positionUTF8", "positionCaseInsensitiveUTF8", "locate", "like", "ilike", "notLike"),
    *("notILike", "match", "extract", "extractAll", "extractAllGroupsVertical"),
    *("replace", "replaceOne", "replaceAll", "replaceRegexpOne", "replaceRegexpAll"),
    *("regexpQuoteMeta", "splitByChar", "splitByString", "splitByRegexp", "splitByWhitespace"),
    *("arrayStringConcat", "countSubstrings", "countSubstringsCaseInsensitive", "countMatches"),
    *("ngrams", "repeat", "ascii", "hex", "unhex", "base64Encode", "base64Decode"),
    *("tryBase64Decode", "toValidUTF8", "isValidUTF8", "normalizeUTF8NFC", "initcap"),
    *("editDistance", "jaroWinklerSimilarity", "ngramDistance", "decodeHTMLComponent"),
    *("encodeXMLComponent", "decodeXMLComponent", "soundex"),
    # Addresses.
    *("protocol", "domain", "domainWithoutWWW", "topLevelDomain", "firstSignificantSubdomain"),
    *("cutToFirstSignificantSubdomain", "port", "path", "pathFull", "queryString", "fragment"),
    *("queryStringAndFragment", "extractURLParameter", "extractURLParameters"),
    *("extractURLParameterNames", "URLHierarchy", "URLPathHierarchy", "encodeURLComponent"),
    *("decodeURLComponent", "encodeURLFormComponent", "decodeURLFormComponent", "netloc"),
    *("cutWWW", "cutQueryString", "cutFragment", "cutQueryStringAndFragment", "cutURLParameter"),
    # JSON.
    *("JSONHas", "JSONLength", "JSONType", "JSONExtractUInt", "JSONExtractInt"),
    *("JSONExtractFloat", "JSONExtractBool", "JSONExtractString", "JSONExtractRaw"),
    *("JSONExtractArrayRaw", "JSONExtractKeysAndValuesRaw", "JSONExtractKeys", "isValidJSON"),
    *("toJSONString", "simpleJSONHas", "simpleJSONExtractString", "JSON_VALUE"),
    # Arrays, tuples and maps.
    *("array", "tuple", "map", "tupleElement", "range", "arrayJoin", "arrayConcat"),
    *("arrayElement", "has", "hasAll", "hasAny", "indexOf", "arrayCount", "countEqual"),
    *("arrayEnumerate", "arrayEnumerateUniq", "arrayPopBack", "arrayPopFront", "arrayPushBack"),
    *("arrayPushFront", "arraySlice", "arraySort", "arrayReverseSort", "arrayUniq"),
    *("arrayDifference", "arrayDistinct", "arrayIntersect", "arrayReverse"),
    *("arrayFlatten", "flatten", "arrayCompact", "arrayZip", "arrayMap", "arrayFilter"),
    *("arrayExists", "arrayAll", "arrayFirst", "arrayLast", "arrayFirstIndex", "arrayLastIndex"),
    *("arrayMin", "arrayMax", "arraySum", "arrayAvg", "arrayCumSum", "arrayProduct"),
    *("arrayResize", "arrayRotateLeft", "arrayRotateRight", "mapKeys", "mapValues"),
    *("mapContains", "emptyArrayString"),
    # Hashes and ids.
    *("cityHash64", "sipHash64", "xxHash64", "MD5", "SHA256", "halfMD5", "murmurHash3_64"),
    *("generateUUIDv4", "rand", "rand64", "UUIDStringToNum", "UUIDNumToString", "IPv4NumToString"),
    *("IPv4StringToNum", "isIPv4String", "isIPv6String", "isIPAddressInRange"),
)

# Names of PostHog, with the expression that they stand for.
TEMPLATES: Final[Mapping[str, str]] = {
    "toint": "accurateCastOrNull({0}, 'Int64')",
    "tofloat": "accurateCastOrNull({0}, 'Float64')",
    "todecimal": "accurateCastOrNull({0}, 'Decimal(38, 10)')",
    "touuid": "accurateCastOrNull({0}, 'UUID')",
    "toboolean": "accurateCastOrNull({0}, 'Bool')",
    "toboolornull": "accurateCastOrNull({0}, 'Bool')",
}
_OTHER_NAMES: Final[Mapping[str, str]] = {
    "char_length": "lengthUTF8",
    "date_add": "dateAdd",
    "date_diff": "dateDiff",
    "date_sub": "dateSub",
    "date_trunc": "dateTrunc",
    "len": "length",
    "mod": "modulo",
    "substr": "substring",
    "to_timestamp": "toDateTime",
}

AGGREGATES: Final[Mapping[str, str]] = {
    f"{name}{ending}".lower(): f"{name}{ending}"
    for name in _AGGREGATES
    for ending in ("", *_ENDINGS)
}
WINDOW_FUNCTIONS: Final[Mapping[str, str]] = {name.lower(): name for name in _OF_WINDOWS}
FUNCTIONS: Final[Mapping[str, str]] = {
    **{name.lower(): name for name in _OF_ROWS},
    **_OTHER_NAMES,
}
# The types to which a value can be cast, by the names of the parser.
TYPES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("TEXT", "VARCHAR", "CHAR", "NCHAR"), "String"),
    **dict.fromkeys(("INT", "INTEGER"), "Int32"),
    "TINYINT": "Int8",
    "SMALLINT": "Int16",
    "BIGINT": "Int64",
    "UTINYINT": "UInt8",
    "USMALLINT": "UInt16",
    "UINT": "UInt32",
    "UBIGINT": "UInt64",
    "FLOAT": "Float32",
    "DOUBLE": "Float64",
    "DATE": "Date",
    "DATE32": "Date32",
    "DATETIME": "DateTime",
    "TIMESTAMP": "DateTime",
    "DATETIME64": "DateTime64(6)",
    "UUID": "UUID",
    "BOOLEAN": "Bool",
}
UNITS: Final[Mapping[str, str]] = {
    f"{unit.upper()}{ending}": f"toInterval{unit}"
    for unit in ("Second", "Minute", "Hour", "Day", "Week", "Month", "Quarter", "Year")
    for ending in ("", "S")
}
