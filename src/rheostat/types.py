"""Spark SQL types, written as in ``DataFrame.dtypes``, and the Arrow types that correspond to them."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pyarrow as pa

from rheostat.errors import TopologyError

Schema = Mapping[str, str]
"""Maps column names to Spark SQL types."""

INTEGERS = ("tinyint", "smallint", "int", "bigint")
FLOATS = ("float", "double")
TIMESTAMPS = ("timestamp", "timestamp_ntz")

_SIMPLE: dict[str, pa.DataType] = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_ARRAY = re.compile(r"array<(.+)>")
_STRUCT = re.compile(r"struct<(.+)>")


def arrow_type(type_: str) -> pa.DataType:
    """Return the Arrow type that Spark uses for a Spark SQL type; raise ``TopologyError`` if state cannot hold it.

    >>> arrow_type("array<struct<item:string,count:bigint>>")
    ListType(list<element: struct<item: string, count: int64>>)
    """
    if type_ in _SIMPLE:
        return _SIMPLE[type_]
    if match := _DECIMAL.fullmatch(type_):
        return pa.decimal128(int(match[1]), int(match[2]))
    if match := _ARRAY.fullmatch(type_):
        return pa.list_(pa.field("element", arrow_type(match[1])))
    if match := _STRUCT.fullmatch(type_):
        fields = [field.split(":", 1) for field in _split_fields(match[1])]
        return pa.struct([(name, arrow_type(field_type)) for name, field_type in fields])
    raise TopologyError(f"columns of type {type_} cannot be kept in state: convert them to another type first")


def _split_fields(text: str) -> list[str]:
    """Split the fields of a struct at the commas that are not inside another type."""
    fields, depth = [""], 0
    for character in text:
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            fields.append("")
        else:
            fields[-1] += character
    return fields


def is_numeric(type_: str) -> bool:
    """True if a column of this type can be summed and averaged."""
    return type_ in INTEGERS or type_ in FLOATS or _DECIMAL.fullmatch(type_) is not None


def is_key(type_: str) -> bool:
    """True if a column of this type can be a key attribute."""
    return type_ in _SIMPLE or _DECIMAL.fullmatch(type_) is not None


def sum_type(type_: str) -> str:
    """Return the type that Spark gives to the sum of a column.

    >>> sum_type("int"), sum_type("float"), sum_type("decimal(10,2)")
    ('bigint', 'double', 'decimal(20,2)')
    """
    if type_ in INTEGERS:
        return "bigint"
    if match := _DECIMAL.fullmatch(type_):
        return f"decimal({min(38, int(match[1]) + 10)},{match[2]})"
    return "double"


def micros_sql(column_sql: str, type_: str) -> str:
    """Return Spark SQL that converts a timestamp, with or without time zone, to exact microseconds since 1970."""
    if type_ == "timestamp":
        return f"unix_micros({column_sql})"
    return f"timestampdiff(MICROSECOND, TIMESTAMP_NTZ '1970-01-01 00:00:00', {column_sql})"
