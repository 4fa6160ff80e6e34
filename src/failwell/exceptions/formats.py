"""Rules for libraries that parse and validate data, such as pydantic, jsonschema, msgspec and yaml.

A validation error from inside a tool's body says that data the tool got or made is wrong, not that the caller's
arguments are: those are checked before the body runs.
"""

from failwell.exceptions.network import raised_from
from failwell.exceptions.rules import Family, otherwise
from failwell.exceptions.stdlib import by_source_of_text

RULES: Family = {
    "pydantic pydantic_core": {
        "ValidationError": "BAD_UPSTREAM_RESPONSE",
        "PydanticUserError": "INTERNAL_ERROR",
        "PydanticErrorMixin": "INTERNAL_ERROR",
        "PydanticSerializationError": "INTERNAL_ERROR",
        "PydanticSerializationUnexpectedValue": "INTERNAL_ERROR",
        "PydanticCustomError": "BAD_UPSTREAM_RESPONSE",
        "PydanticKnownError": "BAD_UPSTREAM_RESPONSE",
        "PydanticOmit": "INTERNAL_ERROR",
        "PydanticUseDefault": "INTERNAL_ERROR",
        "SchemaError": "INTERNAL_ERROR",
    },
    "pydantic_settings": {"SettingsError": "CONFIG_ERROR"},
    "jsonschema": {
        "ValidationError": "BAD_UPSTREAM_RESPONSE",
        "FormatError": "BAD_UPSTREAM_RESPONSE",
        "SchemaError": "INTERNAL_ERROR",
        "UndefinedTypeCheck": "INTERNAL_ERROR",
        "UnknownType": "INTERNAL_ERROR",
        "_RefResolutionError": "INTERNAL_ERROR",
    },
    "referencing": {"Unresolvable": "INTERNAL_ERROR", "NoSuchResource": "INTERNAL_ERROR"},
    "jsonschema_rs": {"ValidationError": "BAD_UPSTREAM_RESPONSE", "ReferencingError": "INTERNAL_ERROR"},
    "fastjsonschema": {
        "JsonSchemaValueException": "BAD_UPSTREAM_RESPONSE",
        "JsonSchemaException": "INTERNAL_ERROR",
    },
    "msgspec": {
        "ValidationError": "BAD_UPSTREAM_RESPONSE",
        "DecodeError": by_source_of_text,
        "EncodeError": "INTERNAL_ERROR",
        "MsgspecError": "INTERNAL_ERROR",
    },
    "marshmallow": {
        "ValidationError": "BAD_UPSTREAM_RESPONSE",
        "MarshmallowError": "INTERNAL_ERROR",
        "RegistryError": "INTERNAL_ERROR",
    },
    "cattrs": {
        "BaseValidationError": "BAD_UPSTREAM_RESPONSE",
        "StructureHandlerNotFoundError": "INTERNAL_ERROR",
        "ForbiddenExtraKeysError": "BAD_UPSTREAM_RESPONSE",
    },
    "voluptuous": {"Invalid": "BAD_UPSTREAM_RESPONSE", "SchemaError": "INTERNAL_ERROR"},
    "schema": {"SchemaError": "BAD_UPSTREAM_RESPONSE"},
    "cerberus": {"DocumentError": "BAD_UPSTREAM_RESPONSE", "SchemaError": "INTERNAL_ERROR"},
    "typeguard": {"TypeCheckError": "INTERNAL_ERROR"},
    "beartype": {"BeartypeException": "INTERNAL_ERROR"},
    "yaml": {"YAMLError": by_source_of_text},
    "ruamel": {"YAMLError": by_source_of_text},
    "orjson simplejson ujson rapidjson": {
        "JSONDecodeError": by_source_of_text,
        "JSONEncodeError": "INTERNAL_ERROR",
    },
    "tomli tomlkit toml": {
        "TOMLDecodeError": by_source_of_text,
        "TomlDecodeError": by_source_of_text,
        "ParseError": by_source_of_text,
    },
    "lxml": {"LxmlError": by_source_of_text, "XPathEvalError": "QUERY_ERROR", "XPathSyntaxError": "QUERY_ERROR"},
    "dateutil": {"ParserError": "PARSE_ERROR"},
    "rarfile": {
        "NoRarEntry": "NOT_FOUND",
        "PasswordRequired": "UNAUTHORIZED",
        "RarWrongPassword": "UNAUTHORIZED",
    },
    "langchain_core": {"OutputParserException": "BAD_UPSTREAM_RESPONSE"},
    "PIL": {"DecompressionBombError": "PAYLOAD_TOO_LARGE"},
    "email_validator": {"EmailNotValidError": "INVALID_ARGUMENT"},
    "itsdangerous": {"BadSignature": "UNAUTHORIZED"},
    "pytesseract": {"TesseractNotFoundError": "CONFIG_ERROR"},
    "networkx": {"NetworkXNoPath": "NOT_FOUND", "NetworkXNoCycle": "NOT_FOUND"},
    "pyarrow": {"ArrowCapacityError": "PAYLOAD_TOO_LARGE"},
    "sqlglot": {"TokenError": "QUERY_ERROR"},
    "bs4": {"FeatureNotFound": "CONFIG_ERROR"},
    "pikepdf": {"PdfError": "PARSE_ERROR", "PasswordError": "UNAUTHORIZED"},
    "ijson": {"JSONError": by_source_of_text},
    "mutagen": {"MutagenError": otherwise(raised_from, "PARSE_ERROR")},
    "jinja2": {"TemplateNotFound": "CONFIG_ERROR", "TemplateError": "INTERNAL_ERROR"},
}
