//! The tables of the system catalog: names, columns, types.

use crate::types::{Kind, Type};

const fn varchar(length: i32) -> Type {
    Type::new(Kind::VarChar, length)
}

const fn char(length: i32) -> Type {
    Type::new(Kind::Char, length)
}

const INT: Type = Type::of(Kind::Int);
const SMALL: Type = Type::of(Kind::SmallInt);
const FLOAT: Type = Type::of(Kind::Float);
const SERIAL: Type = Type::of(Kind::Serial);
const CHAR1: Type = char(1);
const NAME: Type = varchar(128);
const OWNER: Type = char(32);

/// A catalog table: its name and its columns.
pub type Definition = (&'static str, &'static [(&'static str, Type)]);

/// The tables that every database has, in the order of their numbers; columns that no client queries are left out.
pub const SYSTEM: &[Definition] = &[
    (
        "systables",
        &[
            ("tabname", NAME),
            ("owner", OWNER),
            ("partnum", INT),
            ("tabid", SERIAL),
            ("rowsize", SMALL),
            ("ncols", SMALL),
            ("nindexes", SMALL),
            ("nrows", FLOAT),
            ("created", Type::of(Kind::Date)),
            ("version", INT),
            ("tabtype", CHAR1),
            ("locklevel", CHAR1),
            ("npused", FLOAT),
            ("fextsize", INT),
            ("nextsize", INT),
            ("flags", SMALL),
            // Fixed, so that clients read the rows that they query at connect in one round trip.
            ("site", char(64)),
            ("dbname", NAME),
            ("type_xid", INT),
            ("am_id", INT),
            ("dirpath", char(64)),
        ],
    ),
    (
        "syscolumns",
        &[
            ("colname", NAME),
            ("tabid", INT),
            ("colno", SMALL),
            ("coltype", SMALL),
            ("collength", SMALL),
            ("colmin", INT),
            ("colmax", INT),
            ("extended_id", INT),
            ("seclabelid", INT),
            ("colattr", SMALL),
        ],
    ),
    (
        "sysindices",
        &[
            ("idxname", NAME),
            ("owner", OWNER),
            ("tabid", INT),
            ("idxtype", CHAR1),
            ("clustered", CHAR1),
            ("levels", SMALL),
            ("leaves", FLOAT),
            ("nunique", FLOAT),
            ("clust", FLOAT),
            ("nrows", FLOAT),
            ("amid", INT),
        ],
    ),
    ("systabauth", &[("grantor", OWNER), ("grantee", OWNER), ("tabid", INT), ("tabauth", char(9))]),
    ("syscolauth", &[("grantor", OWNER), ("grantee", OWNER), ("tabid", INT), ("colno", SMALL), ("colauth", char(3))]),
    ("sysviews", &[("tabid", INT), ("seqno", SMALL), ("viewtext", char(64))]),
    ("sysusers", &[("username", OWNER), ("usertype", CHAR1), ("priority", SMALL), ("password", char(16))]),
    ("sysdepend", &[("btabid", INT), ("btype", CHAR1), ("dtabid", INT), ("dtype", CHAR1)]),
    ("syssynonyms", &[("owner", OWNER), ("synname", NAME), ("created", Type::of(Kind::Date)), ("tabid", INT)]),
    (
        "syssyntable",
        &[
            ("tabid", INT),
            ("servername", varchar(128)),
            ("dbname", varchar(128)),
            ("owner", OWNER),
            ("tabname", NAME),
            ("btabid", INT),
        ],
    ),
    (
        "sysconstraints",
        &[
            ("constrid", SERIAL),
            ("constrname", NAME),
            ("owner", OWNER),
            ("tabid", INT),
            ("constrtype", CHAR1),
            ("idxname", NAME),
        ],
    ),
    (
        "sysreferences",
        &[
            ("constrid", INT),
            ("primary", INT),
            ("ptabid", INT),
            ("updrule", CHAR1),
            ("delrule", CHAR1),
            ("matchtype", CHAR1),
            ("pendant", CHAR1),
        ],
    ),
    ("syschecks", &[("constrid", INT), ("type", CHAR1), ("seqno", SMALL), ("checktext", char(32))]),
    ("sysdefaults", &[("tabid", INT), ("colno", SMALL), ("type", CHAR1), ("default", char(256)), ("class", CHAR1)]),
    ("syscoldepend", &[("constrid", INT), ("tabid", INT), ("colno", SMALL)]),
    (
        "sysprocedures",
        &[
            ("procname", NAME),
            ("owner", OWNER),
            ("procid", SERIAL),
            ("mode", CHAR1),
            ("numargs", INT),
            ("isproc", CHAR1),
            ("specificname", NAME),
        ],
    ),
    (
        "sysindexes",
        &[
            ("idxname", NAME),
            ("owner", OWNER),
            ("tabid", INT),
            ("idxtype", CHAR1),
            ("clustered", CHAR1),
            ("part1", SMALL),
            ("part2", SMALL),
            ("part3", SMALL),
            ("part4", SMALL),
            ("part5", SMALL),
            ("part6", SMALL),
            ("part7", SMALL),
            ("part8", SMALL),
            ("part9", SMALL),
            ("part10", SMALL),
            ("part11", SMALL),
            ("part12", SMALL),
            ("part13", SMALL),
            ("part14", SMALL),
            ("part15", SMALL),
            ("part16", SMALL),
            ("levels", SMALL),
            ("leaves", FLOAT),
            ("nunique", FLOAT),
            ("clust", FLOAT),
        ],
    ),
    (
        "sysxtdtypes",
        &[
            ("extended_id", SERIAL),
            ("domain", CHAR1),
            ("mode", CHAR1),
            ("owner", OWNER),
            ("name", NAME),
            ("type", SMALL),
            ("source", INT),
            ("maxlen", INT),
            ("length", INT),
        ],
    ),
    (
        "sysattrtypes",
        &[
            ("extended_id", INT),
            ("seqno", SMALL),
            ("levelno", SMALL),
            ("parent_no", SMALL),
            ("fieldname", NAME),
            ("fieldno", SMALL),
            ("type", SMALL),
            ("length", INT),
            ("xtd_type_id", INT),
        ],
    ),
    (
        "sysproccolumns",
        &[
            ("procid", INT),
            ("paramid", INT),
            ("paramname", NAME),
            ("paramtype", INT),
            ("paramlen", INT),
            ("paramxid", INT),
            ("paramattr", INT),
        ],
    ),
    ("sysinherits", &[("child", INT), ("parent", INT), ("class", CHAR1)]),
    ("sysblobs", &[("spacename", NAME), ("type", CHAR1), ("tabid", INT), ("colno", SMALL)]),
    (
        "systriggers",
        &[
            ("trigid", SERIAL),
            ("trigname", NAME),
            ("owner", OWNER),
            ("tabid", INT),
            ("event", CHAR1),
            ("old", NAME),
            ("new", NAME),
            ("mode", CHAR1),
        ],
    ),
    ("systrigbody", &[("trigid", INT), ("datakey", CHAR1), ("seqno", INT), ("data", char(256))]),
    ("sysprocbody", &[("procid", INT), ("datakey", CHAR1), ("seqno", INT), ("data", char(256))]),
    ("sysprocauth", &[("grantor", OWNER), ("grantee", OWNER), ("procid", INT), ("procauth", CHAR1)]),
    ("sysroleauth", &[("rolename", OWNER), ("grantee", OWNER), ("is_grantable", CHAR1)]),
    ("sysobjstate", &[("objtype", CHAR1), ("owner", OWNER), ("name", NAME), ("tabid", INT), ("state", CHAR1)]),
    (
        "syssequences",
        &[("seqid", SERIAL), ("tabid", INT), ("start_val", Type::of(Kind::Int8)), ("inc_val", Type::of(Kind::Int8))],
    ),
    ("sysmaster:sysdual", &[("dummy", CHAR1)]),
];

/// Tables that show the server to each session, and not the database.
pub const SERVER: &[Definition] = &[
    (
        "sysmaster:sysdatabases",
        &[
            ("name", NAME),
            ("partnum", INT),
            ("owner", OWNER),
            ("created", Type::of(Kind::Date)),
            ("is_logging", INT),
            ("is_buff_log", INT),
            ("is_ansi", INT),
            ("is_nls", INT),
            ("flags", SMALL),
        ],
    ),
    ("sysmaster:sysdbslocale", &[("dbs_dbsname", NAME), ("dbs_collate", char(32))]),
];
